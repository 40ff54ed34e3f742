"""Places and removes single tasks of one application on a few machines, and computes what each place costs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.pairs import PairState, compare_with_limits
from firmament.core.flow.reduction import restrict
from firmament.core.flow.residual import Residual
from firmament.core.ranks import places_in


@dataclass(frozen=True, slots=True)
class Application:
    """The movable tasks of one application, and its tasks that stay.

    ``classes``: int64[B], the problem's classes; ``kinds``: int64[N], all kinds of the application; ``kind``: int64[B],
    index of each class into ``kinds``. ``machines``: int64[A], rows of the machines to choose from. ``fixed_kind``,
    ``fixed_machine``: for each task that stays, the index of its kind and the row of its machine.
    """

    classes: Int64
    kinds: Int64
    kind: Int64
    machines: Int64
    fixed_kind: Int64
    fixed_machine: Int64


class ApplicationBoard:
    """Keeps the places of an application's tasks while a search moves them, and says what each further place costs.

    ``cost``: units that the tasks are charged now, including pairs. ``domain``: int64[A], domain of each of the
    machines to choose from. The round's state (``residual``, ``pairs``) is only read; it must not contain the
    application's movable tasks.
    """

    def __init__(self, residual: Residual, pairs: PairState, app: Application) -> None:
        terms = pairs.terms
        self.app = app
        self._units = pairs.rules.units
        self.domain = terms.domain[app.machines]
        self._own = np.diagonal(terms.cost)[self.domain]
        self._residual = _narrow(residual, app)
        self._algebra = _Algebra(pairs, app)
        self._in_domain = pairs.counts[app.kinds].astype(np.float64)
        self._on_machine = np.zeros((len(app.kinds), len(app.machines)))
        place = np.searchsorted(app.machines, app.fixed_machine)
        np.add.at(self._on_machine, (app.fixed_kind, place), 1.0)
        self._link_left = (terms.link_limit - pairs.load).astype(np.float64)
        self.cost = 0.0

    def copy(self) -> ApplicationBoard:
        """Return an independent copy."""
        twin = copy(self)
        for name in ("_residual", "_in_domain", "_on_machine", "_link_left"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def row(self, index: int) -> tuple[Float64, Bool]:
        """Return what one more task of a class costs on each machine, and where it may go.

        The results are float64[A] in units, and bool[A].
        """
        kind = int(self.app.kind[index])
        fits = self._residual.find_fitting(index)
        closed = self._algebra.find_closed(kind, self._in_domain, self._link_left)
        if closed is not None:
            fits &= ~closed[self.domain]
        return self._charge(index, kind), fits

    def _charge(self, index: int, kind: int) -> Float64:
        per_domain, partners = self._algebra.compute_cost_per_domain(kind, self._in_domain)
        pairs = per_domain[self.domain] - self._own * (partners @ self._on_machine)
        problem, placed = self._residual.problem, self._residual.placed
        charged: Float64 = pairs * self._units + problem.cost[index] + problem.crowd * placed
        return charged

    def put(self, index: int, machine: int, cost: float) -> None:
        """Place one task of a class on a machine (index); ``cost``: what `row` returned for this machine."""
        self._book(index, machine, 1)
        self.cost += cost

    def withdraw(self, index: int, machine: int) -> float:
        """Remove one task of a class from a machine; return what the task was charged there."""
        self._book(index, machine, -1)
        cost = float(self._charge(index, int(self.app.kind[index]))[machine])
        self.cost -= cost
        return cost

    def _book(self, index: int, machine: int, count: int) -> None:
        kind, domain = int(self.app.kind[index]), int(self.domain[machine])
        self._residual.add(index, machine, count)
        if count < 0:
            self._in_domain[kind, domain] += count
        if len(self._link_left):
            self._link_left -= count * self._algebra.compute_added(kind, self._in_domain)[domain]
        if count > 0:
            self._in_domain[kind, domain] += count
        self._on_machine[kind, machine] += count

    def violations(self) -> int:
        """Return in how many domains, over all kinds, tasks exceed limits, so that no task could be added there.

        Limits of links do not count.
        """
        found = 0
        for kind in range(len(self.app.kinds)):
            refused = self._algebra.find_refused(kind, self._in_domain)
            if refused is not None:
                found += int((refused & (self._in_domain[kind] > 0)).sum())
        return found


def _narrow(residual: Residual, app: Application) -> Residual:
    """Return what is left on an application's machines for its classes.

    Class i has shape i, and pins become filters.
    """
    problem = residual.problem
    few = restrict(
        residual,
        app.machines,
        problem.shape[app.classes],
        counts=residual.remaining[app.classes],
        priority=problem.priority[app.classes],
        shape=np.arange(len(app.classes)),
        pins={},
    )
    for row, cls in enumerate(app.classes.tolist()):
        if cls in problem.pins:
            few.problem.feasible[row] &= np.isin(app.machines, problem.pins[cls])
    return few


class _Algebra:
    """The pairs of one application as small matrices; ``into[k, j]``: pairs with source kind k and target kind j."""

    def __init__(self, pairs: PairState, app: Application) -> None:
        terms = pairs.terms
        index = places_in(app.kinds, terms.kinds)
        own = np.flatnonzero(index[terms.source] >= 0)
        source, target = index[terms.source[own]], index[terms.target[own]]
        size = (len(app.kinds), len(app.kinds))
        self._cost, self._both, self._strict = terms.cost, terms.both_ways, terms.strict
        self._into = np.zeros(size)
        np.add.at(self._into, (source, target), 1.0)
        self._partners = self._into + self._into.T if terms.both_ways else self._into
        self._limits: list[tuple[Float64, Float64]] = []
        limits = compare_with_limits(terms, terms.limit[own]) if pairs.hard else {}
        for limit, matrix in limits.items():
            of = terms.limit[own] == limit
            into = np.zeros(size)
            np.add.at(into, (source[of], target[of]), 1.0)
            self._limits.append((matrix.astype(np.float64), into))
        self._linked = pairs.linked
        links = len(terms.link_limit)
        self._amount = np.zeros(size)
        np.add.at(self._amount, (source, target), terms.amount[own].astype(np.float64))
        self._on_link = (terms.link[:, :, None] == np.arange(links)).astype(np.float64)

    def compute_cost_per_domain(self, kind: int, counts: Float64) -> tuple[Float64, Float64]:
        """Return for each domain what one more task of ``kind`` costs there, and for each kind its pairs.

        The results are float64[D] and float64[N]. ``counts``: number of tasks of each kind in each domain. The pairs
        are counted per task of the other kind.
        """
        figure = self._cost @ (self._into[kind] @ counts)
        if self._both:
            figure = figure + (self._into[:, kind] @ counts) @ self._cost
        return figure, self._partners[kind]

    def find_refused(self, kind: int, counts: Float64) -> Bool | None:
        """Return which domains the limits of pairs close: bool[D]; None if pairs have no limits."""
        if not self._limits:
            return None
        excess = np.zeros(len(self._cost))
        for matrix, into in self._limits:
            excess += matrix @ (into[kind] @ counts)
            if self._strict:
                excess += (into[:, kind] @ counts) @ matrix
        refused: Bool = excess > 0
        return refused

    def find_closed(self, kind: int, counts: Float64, link_left: Float64) -> Bool | None:
        """Return which domains the limits of pairs or of links close: bool[D]; None if there are no such limits."""
        closed = self.find_refused(kind, counts)
        if self._linked:
            added = self.compute_added(kind, counts)
            full: Bool = np.any((added > 0) & (added > link_left), axis=1)
            closed = full if closed is None else closed | full
        return closed

    def compute_added(self, kind: int, counts: Float64) -> Float64:
        """Return what one more task in each domain takes from each link: float64[D, R]."""
        out, back = self._amount[kind] @ counts, self._amount[:, kind] @ counts
        sent = np.einsum("der,e->dr", self._on_link, out)
        added: Float64 = sent + np.einsum("edr,e->dr", self._on_link, back)
        return added

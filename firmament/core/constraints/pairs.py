"""Represents pairs of tasks whose cost depends on where both run: a round's terms, and task counts per domain.

``PairTerms`` of ``cost_models.pairs`` says what a pair of domains costs. This module relates kinds of tasks to the
classes of a round. Costs are in hundredths of a point, as in the flow network.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from cost_models.pairs import PairTerms
from firmament.core.ranks import expand_ranges
from firmament.core.reasons import AnyReason, by_limit

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PairRules:
    """The pairs of tasks in a round that have a cost or a limit together, by where both run (parts of an AppGroup)."""

    terms: PairTerms
    """The pairs as the cost model states them."""
    units: float
    """The units of cost that one unit of the model's figure is worth."""
    kind: Int64
    """int64[C], the kind of each problem class; -1 for none; empty if there are no pairs."""
    resident_kind: Int64
    """int64[A], the kind of each task that is on a machine already."""
    resident_machine: Int64
    """int64[A], the machine row of each task in ``resident_kind``."""

    @property
    def steers(self) -> bool:
        """Whether costs between two tasks influence where tasks go."""
        return self.terms.steers

    @property
    def hard(self) -> bool:
        """Whether a task may be refused some domain because of where its partners are."""
        terms = self.terms
        least = terms.limit.min(initial=np.inf)
        return bool((terms.rating > least).any() or self.linked)

    @property
    def limited(self) -> bool:
        """Whether pairs have limits that must never be exceeded."""
        return self.steers and (self.terms.strict or self.linked)

    @property
    def closes(self) -> bool:
        """Whether pairs may close any machine to a task."""
        return self.hard or self.limited

    @property
    def linked(self) -> bool:
        """Whether network links limit where tasks go."""
        return bool(self.terms.bounded and len(self.terms.link_limit) and self.terms.amount.any())

    def find_paired(self, classes: int) -> Bool:
        """Return bool[C]: the problem's classes whose cost or limits depend on where tasks of other workloads run."""
        return self.kind >= 0 if len(self.kind) else np.zeros(classes, dtype=np.bool_)

    def begin(self, *, counting: bool) -> PairState:
        """Return the state of pairs when the round begins; without any pairs unless ``counting``."""
        return PairState(self) if counting else _NOBODY

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:  # noqa: ARG002
        """Return the units that ``counts[i]`` tasks of ``classes[i]`` on ``machines[i]`` add to the cost of pairs."""
        return (self.compute_figure(classes, machines, counts) - self.compute_figure()) * self.units

    def compute_figure(self, classes: Int64 = _NONE, machines: Int64 = _NONE, counts: Int64 = _NONE) -> float:
        """Return the model's figure, summed over all pairs of tasks on machines, in the model's unit.

        ``counts[i]`` further tasks of ``classes[i]`` on ``machines[i]`` count too.
        """
        then = self.add_residents(np.repeat(classes, counts), np.repeat(machines, counts))
        return pair_figure(self.terms, then.resident_kind, then.resident_machine)

    def add_residents(self, cls: Int64, machines: Int64) -> PairRules:
        """Return the pairs with more tasks on machines: task i is of class ``cls[i]``, on ``machines[i]``."""
        if not len(self.kind):
            return self
        kinds = self.kind[cls]
        known = kinds >= 0
        return replace(
            self,
            resident_kind=np.concatenate([self.resident_kind, kinds[known]]),
            resident_machine=np.concatenate([self.resident_machine, machines[known]]),
        )

    def counts(self) -> Int64:
        """Return how many tasks of each kind are in each domain when the round begins: int64[N, D]."""
        terms = self.terms
        width = terms.domains
        where = self.resident_kind * width + terms.domain[self.resident_machine]
        return np.bincount(where, minlength=terms.kinds * width).reshape(terms.kinds, width)


def link_load(terms: PairTerms, counts: Int64) -> Int64:
    """Return how much all pairs use of each link if ``counts`` (int64[N, D]) tasks are in the domains: int64[R]."""
    load = np.zeros(len(terms.link_limit), dtype=np.int64)
    wanted = np.flatnonzero(terms.amount > 0)
    if not len(wanted) or not len(load):
        return load
    source, target = counts[terms.source[wanted]], counts[terms.target[wanted]]
    taken = np.einsum("p,pd,pe->de", terms.amount[wanted], source, target)
    linked = terms.link >= 0
    np.add.at(load, terms.link[linked], taken[linked])
    return load


def pair_figure(terms: PairTerms, kind: Int64, machine: Int64) -> float:
    """Return the sum of the model's figure over all pairs of tasks.

    Task i is of ``kind[i]``, on machine row ``machine[i]``.

    Every pair counts once, whether or not the terms charge both ends.
    """
    counts = np.zeros((terms.kinds, terms.domains), dtype=np.int64)
    domain = terms.domain[machine]
    np.add.at(counts, (kind, domain), 1)
    between = np.einsum("pd,de,pe->", counts[terms.source], terms.cost, counts[terms.target], optimize=True)
    return float(between - _on_one_machine(terms, kind, machine))


def _on_one_machine(terms: PairTerms, kind: Int64, machine: Int64) -> float:
    """Return what pairs on one machine would cost on two machines of its domain; a task is no pair with itself."""
    width = len(terms.domain)
    spots, many = np.unique(kind * width + machine, return_counts=True)
    own = np.diagonal(terms.cost)[terms.domain[spots % width]]
    by_kind, at = spots // width, spots % width
    starts = np.searchsorted(by_kind, np.arange(terms.kinds + 1))
    lengths = np.diff(starts)[terms.source]
    entry = expand_ranges(starts[terms.source], lengths)
    wanted = np.repeat(terms.target, lengths) * width + at[entry]
    if not len(spots):
        return 0.0
    place = np.minimum(np.searchsorted(spots, wanted), len(spots) - 1)
    partners = np.where(spots[place] == wanted, many[place], 0)
    return float((own[entry] * many[entry] * partners).sum())


def compare_with_limits(terms: PairTerms, limits: Float64) -> dict[float, Int64]:
    """Return, for each of ``limits``, int64[D, D]: whether a pair of tasks in two domains exceeds it.

    1: the pair exceeds the limit. -1: the pair keeps the limit; over all pairs, the majority decides. 0: otherwise.
    """
    found = {}
    for limit in np.unique(limits).tolist():
        exceeds = terms.find_exceeding(limit).astype(np.int64)
        found[limit] = exceeds if terms.strict else exceeds - terms.find_keeping(limit)
    return found


class PairEnds:
    """The pairs as each kind of task sees them: end i of kind ``kind[i]`` concerns tasks of ``other[i]``.

    ``outward``: bool, whether the kind is the source of the pair. An end at the target of a pair is left out unless
    the terms need both directions.
    """

    def __init__(self, terms: PairTerms) -> None:
        inward = terms.both_ways or terms.strict or terms.bounded
        pairs = np.arange(len(terms.source))
        self.kind: Int64 = np.concatenate([terms.source, terms.target] if inward else [terms.source])
        self.other: Int64 = np.concatenate([terms.target, terms.source] if inward else [terms.target])
        self.pair: Int64 = np.concatenate([pairs, pairs] if inward else [pairs])
        self.outward: Bool = np.arange(len(self.kind)) < len(pairs)
        order = np.argsort(self.kind, kind="stable")
        self.kind, self.other = self.kind[order], self.other[order]
        self.pair, self.outward = self.pair[order], self.outward[order]
        self._starts = np.searchsorted(self.kind, np.arange(terms.kinds + 1))

    def list_ends(self, kinds: Int64) -> tuple[Int64, Int64]:
        """Return the ends of several kinds, and for each end the index of its kind in ``kinds``."""
        lengths = np.diff(self._starts)[kinds]
        owner = np.repeat(np.arange(len(kinds)), lengths)
        return expand_ranges(self._starts[kinds], lengths), owner


@dataclass(frozen=True, slots=True)
class DomainView:
    """What domains offer to one more task of some kinds: ``cost``: float64[B, D], units; ``allowed``: bool[B, D]."""

    cost: Float64
    allowed: Bool


class PairState:
    """The number of tasks of each kind in each domain, and the use of links.

    ``counts``: int64[N, D], tasks. ``load``: int64[R], the use of each link.

    ``rules``: the pairs of the round; its resident tasks are those that no longer move in this round. ``hard``,
    ``linked``: as in ``PairRules``.
    """

    def __init__(self, rules: PairRules) -> None:
        self.rules = rules
        self.terms = rules.terms
        self.hard, self.linked = rules.hard, rules.linked
        self.ends = PairEnds(rules.terms)
        self.counts = rules.counts()
        self.load = link_load(rules.terms, self.counts)
        self._limits = compare_with_limits(rules.terms, rules.terms.limit)

    def copy(self) -> PairState:
        """Return an independent copy."""
        twin = copy(self)
        twin.counts, twin.load = self.counts.copy(), self.load.copy()
        return twin

    # --- the methods of a constraint -----------------------------------------------------------------------------

    def involves(self, cls: int) -> bool:
        """Return whether a class of the problem belongs to a pair."""
        kind = self.rules.kind
        return len(kind) > 0 and bool(kind[cls] >= 0)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return each reason for which machines refuse one more task of a class, with these machines."""
        terms = self.terms
        if not self.involves(cls) or not terms.steers:
            return []
        kind = self.rules.kind[[cls]]
        found = [(terms.exceeded if terms.strict else terms.outvoted, self.find_refused(kind)[0])]
        if self.linked:
            found.append((terms.link_full, self.link_room(kind)[0] <= 0))
        domain = terms.domain if at is None else terms.domain[at]
        return [(by_limit(words), refused[domain]) for words, refused in found]

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether limits and links allow one more task of a class on a machine."""
        if not self.involves(cls):
            return True
        return bool(self.view(self.rules.kind[[cls]]).allowed[0, self.terms.domain[machine]])

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine; a negative ``count`` removes them."""
        if self.involves(cls):
            self.count(self.rules.kind[[cls]], self.terms.domain[[machine]], np.array([count]))

    # --- many tasks at once --------------------------------------------------------------------------------------

    def count(self, kinds: Int64, domains: Int64, counts: Int64) -> None:
        """Count ``counts[i]`` tasks of ``kinds[i]`` in ``domains[i]``; negative counts remove them."""
        if self.linked:
            for kind, domain, count in zip(kinds.tolist(), domains.tolist(), counts.tolist(), strict=True):
                self.load += count * self._compute_added(kind, domain)
                self.counts[kind, domain] += count
        else:
            np.add.at(self.counts, (kinds, domains), counts)

    def add_all(self, cls: Int64, machine: Int64, count: Int64) -> None:
        """Count ``count[i]`` tasks of class ``cls[i]`` on ``machine[i]``."""
        if not len(self.rules.kind):
            return
        kind = self.rules.kind[cls]
        known = kind >= 0
        self.count(kind[known], self.terms.domain[machine[known]], count[known].astype(np.int64))

    def fix(self, cls: Int64, machines: Int64) -> None:
        """Treat tasks that ``count`` has counted as running: task i, of class ``cls[i]``, on ``machines[i]``."""
        self.rules = self.rules.add_residents(cls, machines)

    def view(self, kinds: Int64) -> DomainView:
        """Return the cost and the permission for one more task of each of ``kinds`` in each domain."""
        terms = self.terms
        ends, owner = self.ends.list_ends(kinds)
        there = self.counts[self.ends.other[ends]]
        outward = self.ends.outward[ends]
        cost = np.zeros((len(kinds), terms.domains))
        if terms.steers:
            np.add.at(cost, owner[outward], there[outward] @ terms.cost.T)
            if terms.both_ways:
                np.add.at(cost, owner[~outward], there[~outward] @ terms.cost)
        allowed = np.ones((len(kinds), terms.domains), dtype=np.bool_)
        if terms.steers:
            allowed &= ~self._find_refused(len(kinds), ends, owner, there)
            if self.linked:
                allowed &= self.link_room(kinds) > 0
        return DomainView(cost * self.rules.units, allowed)

    def cost_at(self, cls: int, machines: Int64) -> Float64:
        """Return the units that one more task of a class would cost on each of ``machines``: float64[A]."""
        if not self.involves(cls):
            return np.zeros(len(machines))
        return self.view(self.rules.kind[[cls]]).cost[0][self.terms.domain[machines]]

    def find_refused(self, kinds: Int64) -> Bool:
        """Return which domains are closed to one more task of each kind by limits other than links: bool[B, D]."""
        ends, owner = self.ends.list_ends(kinds)
        return self._find_refused(len(kinds), ends, owner, self.counts[self.ends.other[ends]])

    def _find_refused(self, kinds: int, ends: Int64, owner: Int64, there: Int64) -> Bool:
        terms = self.terms
        excess = np.zeros((kinds, terms.domains), dtype=np.int64)
        limits, outward = terms.limit[self.ends.pair[ends]], self.ends.outward[ends]
        for limit, matrix in self._limits.items():
            out = outward & (limits == limit)
            np.add.at(excess, owner[out], there[out] @ matrix.T)
            if terms.strict:
                back = ~outward & (limits == limit)
                np.add.at(excess, owner[back], there[back] @ matrix)
        refused: Bool = excess > 0
        return refused

    def link_room(self, kinds: Int64) -> Int64:
        """Return how many more tasks of a kind links allow in each domain: int64[B, D].

        The computation is slow for many kinds.
        """
        left = self.terms.link_limit - self.load
        room = np.full((len(kinds), self.terms.domains), np.iinfo(np.int64).max)
        for index, kind in enumerate(kinds.tolist()):
            for domain in range(self.terms.domains):
                added = self._compute_added(kind, domain)
                used = added > 0
                if used.any():
                    room[index, domain] = max(0, int((left[used] // added[used]).min()))
        return room

    def _compute_added(self, kind: int, domain: int) -> Int64:
        """Return what one more task of a kind in a domain uses of each link: int64[R]."""
        ends, _ = self.ends.list_ends(np.array([kind]))
        amount = self.terms.amount[self.ends.pair[ends]][:, None] * self.counts[self.ends.other[ends]]
        outward = self.ends.outward[ends]
        added = np.zeros(len(self.load), dtype=np.int64)
        for link, taken in (
            (self.terms.link[domain], amount[outward].sum(axis=0)),
            (self.terms.link[:, domain], amount[~outward].sum(axis=0)),
        ):
            np.add.at(added, link[link >= 0], taken[link >= 0])
        return added

    def self_paired(self, kinds: Int64) -> Bool:
        """Return which kinds have pairs within the kind: bool[B]."""
        own = np.zeros(self.terms.kinds, dtype=np.bool_)
        own[self.ends.kind[self.ends.kind == self.ends.other]] = True
        return own[kinds]


_SQUARE = np.empty((0, 0))

NO_PAIRS = PairRules(
    PairTerms(
        domain=_NONE,
        cost=_SQUARE,
        rating=_SQUARE,
        group=_NONE,
        stage=_NONE,
        source=_NONE,
        target=_NONE,
        limit=np.empty(0),
        amount=_NONE,
        link=_SQUARE.astype(np.int64),
        link_limit=_NONE,
        steers=False,
    ),
    units=0.0,
    kind=_NONE,
    resident_kind=_NONE,
    resident_machine=_NONE,
)
"""The pairs of rounds without pairs."""

_NOBODY = PairState(NO_PAIRS)

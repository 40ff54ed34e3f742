"""Forms units of tasks that lack quota and are placed together: a single task or a gang."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import list_amounts, list_columns
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.coverage import rank_of
from firmament.core.preemption.quotas.victims import Preemptor
from firmament.core.preemption.tree_groups.groups import put_tree
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class QuotaUnit:
    """Tasks that are placed together: one task, or the tasks of a gang."""

    members: tuple[tuple[int, int], ...]
    """The classes of its tasks, and the number of tasks of each."""
    preemptor: Preemptor
    """The unit as the task or gang for which others are evicted."""
    tree: int = -1
    """The gang of a tree of groups; -1 for all other units."""


def list_units(state: PreemptionState, able: Bool, gang: Int64, need: Int64) -> Iterator[QuotaUnit]:
    """Yield the units of the classes ``able`` (bool[C]) that wait for quota, the most important first.

    ``gang``: int64[C], the gang of each class, -1 for none; ``need``: int64[G], how many tasks each gang needs.
    """
    problem = state.problem
    quotas = problem.quotas
    assert quotas is not None
    drawing = able & (quotas.find_nodes(problem.shape) >= 0) & (state.remaining > 0)
    units = []
    for number in np.unique(gang[drawing]).tolist():
        members = np.flatnonzero(drawing & (gang == number))
        if number in problem.topology.nested:
            if len(members) == np.count_nonzero(gang == number):
                units.append(_make_tree(state, number, members.tolist()))
            continue
        if number < 0:
            units += [make_unit(state, ((cls, 1),)) for cls in members.tolist()]
            continue
        wanted, left = [], int(need[number])
        for cls in members.tolist():
            count = min(left, int(state.remaining[cls]))
            left -= count
            wanted += [(cls, count)] if count else []
        if not left:
            units.append(make_unit(state, tuple(wanted)))
    yield from sorted(units, key=lambda unit: unit.preemptor.importance, reverse=True)


def _make_tree(state: PreemptionState, gang: int, members: Sequence[int]) -> QuotaUnit:
    """Return the unit of a tree of groups: all of its waiting tasks."""
    unit = make_unit(state, tuple((cls, int(state.remaining[cls])) for cls in members))
    return replace(unit, tree=gang)


def make_unit(state: PreemptionState, members: tuple[tuple[int, int], ...]) -> QuotaUnit:
    """Return the unit of some tasks; ``members``: classes, and the number of tasks of each."""
    terms = state.problem.quotas
    assert terms is not None
    draws = [terms.draws[int(terms.draw[state.problem.shape[cls]])] for cls, _ in members]
    node = next(draw.node for draw in draws if draw.node >= 0)
    columns = {column for draw in draws if draw.node == node for column in list_columns(draw)}
    own = int(state.preemption.own[members[0][0]]) if len(state.preemption.own) else -1
    importance = max(rank_of(state, cls) for cls, _ in members)
    return QuotaUnit(members, Preemptor(node, tuple(sorted(columns)), importance, own))


def confine_unit(state: PreemptionState, unit: QuotaUnit, places: Sequence[tuple[int, int]]) -> QuotaUnit:
    """Return a unit as it draws on quotas if its tasks are at ``places`` (class, kind of machine)."""
    return replace(unit, preemptor=unit.preemptor._replace(columns=find_drawn(state, places)))


def find_drawn(state: PreemptionState, places: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the quota columns that tasks draw on at ``places`` (class, kind of machine)."""
    terms, found = state.problem.quotas, set[int]()
    assert terms is not None
    for cls, kind in places:
        draw = int(terms.draw[state.problem.shape[cls]])
        if draw >= 0:
            found.update(column for column, _ in list_amounts(terms.draws[draw], terms.covers[kind]))
    return tuple(sorted(found))


def find_drawn_at(state: PreemptionState, places: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the quota columns that tasks would draw on at ``places`` (class, machine)."""
    terms = state.problem.quotas
    assert terms is not None
    return find_drawn(state, [(cls, int(terms.kind[machine])) for cls, machine in places])


def may_evict(state: PreemptionState, unit: QuotaUnit) -> bool:
    """Return whether a unit may evict at all: its queue may require that some quota is large enough for it.

    One of two quotas must be large enough in some flavor: the queue's own quota, whatever is used of it, or what a
    quota above it, below the root, has left (Kueue's ``FindHeightOfLowestSubtreeThatFits``,
    ``pkg/scheduler/preemption/classical``).
    """
    terms, node = state.problem.quotas, unit.preemptor.node
    assert terms is not None
    if not (terms.within_quota and terms.within_quota[node]):
        return True
    drawn = set(unit.preemptor.columns)
    return all(
        any(
            drawn.issuperset(columns)
            and all(
                _is_wide_enough(state, node, column, amount * count)
                for column, amount in zip(columns, group.amounts, strict=True)
            )
            for columns in group.columns
        )
        for cls, count in unit.members
        for group in terms.draws[int(terms.draw[state.problem.shape[cls]])].groups
    )


def _is_wide_enough(state: PreemptionState, node: int, column: int, amount: int) -> bool:
    """Return whether a quota is at least ``amount``, or has that much left with borrowing, or a quota above it has.

    The root of the tree does not count as a quota above.
    """
    quotas = state.quotas
    assert quotas is not None
    use, tree = quotas.use, quotas.terms.tree
    if amount <= max(int(tree.subtree[node, column]), use.get_left(node, column)):
        return True
    for each in use.list_path(node)[:-1]:
        if use.used[each][column] + amount <= tree.subtree[each, column]:
            return True
        amount -= max(0, int(tree.local[each, column] - use.used[each][column]))
    return False


def put_unit(state: PreemptionState, unit: QuotaUnit, solver: Solver) -> list[tuple[int, int]] | None:
    """Place the tasks of a unit; return the places as (class, machine), or None as soon as one task finds none."""
    if unit.tree >= 0:
        return put_tree(state, state.problem.topology, unit.tree, solver)
    places = []
    for cls, count in unit.members:
        for _ in range(count):
            machine = find_machine(state, cls)
            if machine is None:
                return None
            state.put(cls, machine)
            places.append((cls, machine))
    return places


def find_machine(state: PreemptionState, cls: int) -> int | None:
    """Return the cheapest machine that takes one more task of a class now, or None if no machine does."""
    wanted = np.flatnonzero(state.heeds(cls))
    roomy = np.flatnonzero((state.room[:, wanted] >= state.request(cls)[wanted]).all(axis=1))
    places = roomy[state.usable(cls)[roomy]]
    cost = state.problem.cost[state.problem.shape[cls], places]
    for machine in places[np.argsort(cost, kind="stable")].tolist():
        if state.allows(cls, machine):
            return int(machine)
    return None

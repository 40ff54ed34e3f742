"""Places tasks whose queue prefers an eviction in one flavor to a place in another flavor.

A round first gives tasks places where no task has to leave. Two settings of a queue change that. With
``QuotaTerms.evicts_first``, tasks try their flavors in order, and evict in the first flavor in which an eviction
helps. With ``evicts_before_borrowing``, tasks try several flavors, and prefer evicting in one of them to borrowing
further up in another. Tasks of queues with these preferences try their flavors as in Kueue
(``pkg/scheduler/flavorassigner``, ``shouldTryNextFlavor`` and ``isPreferred``). A task gives up the place that the
round has found only after it has found evictions instead. No task therefore waits only because it prefers to evict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.reclaim import QuotaReclaim
from firmament.core.preemption.quotas.units import (
    QuotaUnit,
    confine_unit,
    find_drawn_at,
    list_units,
    make_unit,
)
from firmament.core.preemption.quotas.victim_sets import Reclaimed
from firmament.core.ranks import group_equal_rows

Places = tuple[tuple[int, int], ...]
"""Class and machine of each task."""

MOST_WISHES = 1_000
"""Most tasks and gangs for which a round looks for evictions in other flavors; all others keep the places found."""

NOWHERE = 2**30
"""Height (levels up the tree of quotas) to which a task without a place borrows; above every real height."""


@dataclass(frozen=True, slots=True)
class _FlavorPart:
    """Kinds of machines that are covered by the same flavors of a unit, that is of a task or gang."""

    kind: int
    """An example: one of these kinds of machines."""
    machines: Bool
    """bool[M], the machines of all these kinds."""


class FlavorChoice:
    """Lets tasks evict in flavors that they prefer to their places; each success advances the state of ``reclaim``."""

    def __init__(self, reclaim: QuotaReclaim, placed: Assignments) -> None:
        """``placed``: the places that the round has found without evictions."""
        terms = reclaim.state.problem.quotas
        assert terms is not None
        self._reclaim, self._terms, self._placed = reclaim, terms, placed
        self._early = terms.find_evicting_early()
        self._order = QuotaOrder(reclaim.present)

    def trade_places_for_evictions(self, able: Bool, gang: Int64, need: Int64) -> Places:
        """Exchange places for evictions where a queue prefers that; return the places that are given up.

        ``able``: bool[C], classes that may evict for quota; ``gang``: int64[C], the gang whose tasks wait for places
        together, -1 for none; ``need``: int64[G], how many tasks each gang needs.
        """
        state = self._reclaim.state
        if state.problem.irrevocable or state.coupled:
            return ()  # placements cannot be undone, or other tasks may rely on them
        node = self._terms.find_nodes(state.problem.shape)
        able = able & np.append(self._early, False)[node]
        if not able.any():
            return ()
        wishes = list_placed_units(state, self._placed, able)
        wishes += [(unit, ()) for unit in list_units(state, able, gang, need)]
        wishes.sort(key=lambda wish: wish[0].preemptor.importance, reverse=True)
        # The tasks that borrow are the least important of a queue that prefers not to borrow, so they come first.
        in_turn = [wish for wish in wishes if self._looks_in_order(wish[0])]
        in_turn += [wish for wish in reversed(wishes) if not self._looks_in_order(wish[0])]
        del in_turn[MOST_WISHES:]
        later: dict[int, Counter[tuple[int, int]]] = {}
        for unit, places in in_turn:
            later.setdefault(unit.preemptor.node, Counter()).update(self._list_draws(places))
        given_up: list[tuple[int, int]] = []
        in_vain: set[tuple[object, ...]] = set()
        for unit, places in in_turn:
            later[unit.preemptor.node].subtract(self._list_draws(places))
            kinds = tuple(self._terms.kind[[machine for _, machine in places]].tolist()) if places else ()
            least = self._find_least(unit, places, later[unit.preemptor.node])
            looks = self._reclaim.describe(unit), kinds, least
            if looks in in_vain:
                continue
            if not self._serve(unit, places, least):
                in_vain.add(looks)
                continue
            given_up += places
            while not places and self._reclaim.may_repeat(unit) and self._serve(unit, (), NOWHERE):
                pass
        return tuple(given_up)

    def _list_draws(self, places: Places) -> list[tuple[int, int]]:
        """Return for each place the draw on quotas and the kind of machine."""
        draw, shape = self._terms.draw, self._reclaim.state.problem.shape
        return [(int(draw[shape[cls]]), int(self._terms.kind[machine])) for cls, machine in places]

    def _find_least(self, unit: QuotaUnit, places: Places, later: Counter[tuple[int, int]]) -> int:
        """Return how many levels up a unit borrows at its places; `NOWHERE` if it has no places.

        ``later``: how many places less important units of its queue have, by draw and kind of machine. If the queue
        tries its flavors in order, these places do not count as reasons for the unit to borrow.
        """
        if not places:
            return NOWHERE
        node, room = unit.preemptor.node, self._reclaim.state.quotas
        assert room is not None
        if self._looks_in_order(unit) and self._terms.is_sparing(node):
            room = room.copy()
            for (draw, kind), count in later.items():
                room.draw_on(draw, kind, -count)
        return self._find_height(room, unit, places)

    def _looks_in_order(self, unit: QuotaUnit) -> bool:
        return bool(self._terms.evicts_first) and self._terms.evicts_first[unit.preemptor.node]

    def _serve(self, unit: QuotaUnit, places: Places, least: int) -> bool:
        """Give a unit places by evictions if it prefers them to ``places``; return whether it got them.

        ``least``: how many levels up the unit borrows at ``places``.
        """
        cells = self._list_cells(unit)
        if len(cells) < 2 and places:
            return False
        before = self._reclaim.state
        self._reclaim.state = base = before.copy_without(places)
        found = self._find_better(unit, places, cells, least)
        base.confined = {}
        if found is None:
            self._reclaim.state = before
            return False
        found.state.confined = {}
        self._reclaim.accept(found._replace(given_up=places))
        return True

    def _find_better(
        self, unit: QuotaUnit, places: Places, cells: Sequence[_FlavorPart], least: int
    ) -> Reclaimed | None:
        """Return evictions that a unit prefers to ``places``, where it borrows up to height ``least``, or None."""
        node, base = unit.preemptor.node, self._reclaim.state
        first, sparing = self._terms.evicts_first[node], self._terms.is_sparing(node)
        machines = [machine for _, machine in places]
        present = (
            [number for number, cell in enumerate(cells) if cell.machines[machines].any()] if places else []
        )
        best = None
        for number, cell in enumerate(cells):
            if present and number > present[-1] and not (sparing and least):
                break
            if number in present or self._has_quota(unit, cell):
                continue
            base.confined = {cls: cell.machines for cls, _ in unit.members}
            found = self._reclaim.choose(
                confine_unit(base, unit, [(cls, cell.kind) for cls, _ in unit.members])
            )
            if found is None:
                continue
            found = found._replace(confined=dict(base.confined))
            assert found.state.quotas is not None
            height = self._find_height(found.state.quotas, unit, found.state.taken[len(base.taken) :])
            if first and not (sparing and height):
                return found
            if height < least and self._terms.evicts_before_borrowing[node]:
                best, least = found, height
        return best

    def _find_height(self, room: RemainingQuota, unit: QuotaUnit, places: Sequence[tuple[int, int]]) -> int:
        """Return how many levels up in the tree a unit at ``places`` borrows with these quotas; 0 for none."""
        drawn = find_drawn_at(self._reclaim.state, places)
        return self._order.go_on(room).find_height(unit.preemptor.node, drawn)

    def _has_quota(self, unit: QuotaUnit, cell: _FlavorPart) -> bool:
        """Return whether a unit has quota in a part without evictions, so that only machines are full there."""
        draw, shape = self._terms.draw, self._reclaim.state.problem.shape
        return all(
            draw[shape[cls]] < 0
            or self._reclaim.present.units_by_kind(int(draw[shape[cls]]))[cell.kind] >= count
            for cls, count in unit.members
        )

    def _list_cells(self, unit: QuotaUnit) -> list[_FlavorPart]:
        """Return the parts of the machines where a unit may go, one per set of flavors, first flavors first.

        The list is empty if the unit's tasks have different flavors.
        """
        terms, shape = self._terms, self._reclaim.state.problem.shape
        draws = {int(terms.draw[shape[cls]]) for cls, _ in unit.members}
        flavors = {
            tuple(flavor for group in terms.draws[draw].groups for flavor in group.flavors)
            for draw in draws
            if draw >= 0
        }
        if len(flavors) != 1:
            return []
        present = np.flatnonzero(np.bincount(terms.kind, minlength=len(terms.covers)))
        covered = terms.covers[present][:, list(flavors.pop())]
        first, cell_of = group_equal_rows(~covered)
        cells = []
        for number, place in enumerate(first.tolist()):
            kinds = present[cell_of == number]
            if self._covers_all(draws, int(present[place])):
                cells.append(_FlavorPart(int(present[place]), np.isin(terms.kind, kinds)))
        return cells

    def _covers_all(self, draws: set[int], kind: int) -> bool:
        """Return whether each group of resources of some draws has a flavor that covers a kind of machines."""
        return all(
            self._terms.covers[kind, list(group.flavors)].any()
            for draw in draws
            if draw >= 0
            for group in self._terms.draws[draw].groups
        )


def list_placed_units(
    state: PreemptionState, placed: Assignments, able: Bool
) -> list[tuple[QuotaUnit, Places]]:
    """Return the tasks and gangs that a round has placed, with their places, for the classes ``able`` (bool[C]).

    A gang is left out if some of its tasks are in other classes, as only part of it could move.
    """
    gang, found = state.problem.gang, list[Places]()
    together: dict[int, list[tuple[int, int]]] = {}
    for cls, machine, count in placed.entries():
        if len(gang) and gang[cls] >= 0:
            together.setdefault(int(gang[cls]), []).extend([(cls, machine)] * count)
        elif able[cls]:
            found += [((cls, machine),)] * count
    found += [tuple(places) for places in together.values() if all(able[cls] for cls, _ in places)]
    return [(make_unit(state, _count(places)), places) for places in found]


def drop_places(placed: Assignments, given_up: Places) -> Assignments:
    """Return the assignments without the places ``given_up``; each of these must be among them."""
    left = placed.count.copy()
    where: dict[tuple[int, int], list[int]] = {}
    for entry, (cls, machine, _) in enumerate(placed.entries()):
        where.setdefault((cls, machine), []).append(entry)
    for place in given_up:
        entries = where[place]
        while not left[entries[-1]]:
            entries.pop()
        left[entries[-1]] -= 1
    return Assignments(placed.cls, placed.machine, left).select(left > 0)


def _count(places: Places) -> tuple[tuple[int, int], ...]:
    """Return the classes that have places in ``places``, and the number of places of each class."""
    return tuple(sorted(Counter(cls for cls, _ in places).items()))

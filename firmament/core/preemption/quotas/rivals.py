"""Places found in this round that go to more important tasks, which would need evictions to come.

A round first gives places to whoever needs no evictions. So a task may get the quota that a more important one lacks,
and that would have come first: one of its own queue, or of a queue that borrows further up or as far. Kueue keeps such
quota for the more important one, as it comes to its turn first. Here the less important one gives its place back, once
it is known that the other comes then; as many as still fit keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.flavors import Places, list_placed_units
from firmament.core.preemption.quotas.reclaim import QuotaReclaim
from firmament.core.preemption.quotas.units import QuotaUnit, find_drawn_at, list_units

MOST_UNITS = 200
"""Tasks and gangs for which others may give their places back, in a round."""


@dataclass(frozen=True, slots=True)
class _Rival:
    """A task or a gang with places."""

    places: Places
    node: int
    """The quota node that it draws on."""
    priority: int
    """Its priority."""
    height: int
    """How far up in the tree it borrows."""


class RivalPlaces:
    """Lets tasks have the places of less important ones; the state of ``reclaim`` advances."""

    def __init__(self, reclaim: QuotaReclaim, placed: Assignments, may_yield: Bool) -> None:
        """``placed``: the places found without evictions; ``may_yield``: bool[C], classes that may give them back."""
        terms = reclaim.state.problem.quotas
        assert terms is not None
        self._reclaim, self._terms, self._root = reclaim, terms, terms.find_roots()
        self._order = QuotaOrder(reclaim.present)
        self._rivals: dict[int, list[_Rival]] = {}
        """By the root of the tree, the least important first."""
        for unit, places in list_placed_units(reclaim.state, placed, may_yield):
            rival = _Rival(
                places,
                unit.newcomer.node,
                unit.newcomer.importance[0],
                self._find_height(reclaim.state, unit.newcomer.node, places),
            )
            self._rivals.setdefault(int(self._root[rival.node]), []).append(rival)
        for rivals in self._rivals.values():
            rivals.sort(key=lambda each: each.priority)

    def give_to_more_important(self, able: Bool, gang: Int64, need: Int64) -> Places:
        """Place units that still wait where less important ones give their places back; return the places given back.

        ``able``: bool[C], classes that may evict for quota; ``gang``, ``need``: see `QuotaReclaim.run`.
        """
        state = self._reclaim.state
        if state.problem.irrevocable or state.coupled or not self._rivals:
            return ()
        given_up: list[tuple[int, int]] = []
        in_vain: set[tuple[object, ...]] = set()
        for number, unit in enumerate(list_units(state, able, gang, need)):
            if number >= MOST_UNITS:
                break
            rivals = self._list_rivals(unit)
            looks = self._reclaim.describe(unit), unit.newcomer.node
            if not rivals or looks in in_vain:
                continue
            given = self._serve(unit, rivals)
            if given is None:
                in_vain.add(looks)
            else:
                given_up += given
        return tuple(given_up)

    def _list_rivals(self, unit: QuotaUnit) -> list[_Rival]:
        """Return the less important tasks and gangs of a unit's queue, and those of its tree that borrow."""
        node, priority = unit.newcomer.node, unit.newcomer.importance[0]
        return [
            each
            for each in self._rivals.get(int(self._root[node]), ())
            if each.priority < priority
            and (each.node == node or (each.height and not self._terms.fair[node]))
        ]

    def _serve(self, unit: QuotaUnit, rivals: Sequence[_Rival]) -> Places | None:
        """Place a unit by the places of rivals, and return those that it needs; None if that is not enough."""
        before = self._reclaim.state
        self._reclaim.state = before.copy_without(place for rival in rivals for place in rival.places)
        found = self._reclaim.choose_flavor(unit)
        self._reclaim.state = before
        if found is None:
            return None
        after, places = found.state, found.state.taken[len(before.taken) :]
        height = self._find_height(after, unit.newcomer.node, places)
        given = [rival for rival in reversed(rivals) if not after.put_back(rival.places)]
        if any(rival.node != unit.newcomer.node and rival.height < height for rival in given):
            return None
        given_up = tuple(place for rival in given for place in rival.places)
        self._reclaim.accept(found._replace(given_up=given_up))
        rest = self._rivals[int(self._root[unit.newcomer.node])]
        rest[:] = [each for each in rest if each not in given]
        return given_up

    def _find_height(self, state: PreemptionState, node: int, places: Sequence[tuple[int, int]]) -> int:
        """Return how far up in the tree a unit borrows that has ``places`` in a state, 0 for not at all."""
        assert state.quotas is not None
        return self._order.go_on(state.quotas).find_height(node, find_drawn_at(state, places))

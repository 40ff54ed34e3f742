"""Machines as tasks come to them: which sets of tasks the devices of a machine serve together.

A state stands for all machines that see alike devices, have the same of them in use, and have got the same tasks since.
Findings about one machine are remembered for all of them. Tasks that came since are served together, so their order
does not matter: if the remaining devices do not serve one more task, the devices of all of these tasks are chosen anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from firmament.core.rules.devices.matching import DeviceSelectors
from firmament.core.rules.devices.requests import ClaimSpec
from firmament.core.rules.devices.search import (
    Pick,
    SearchOutcome,
    ViewUse,
    count_plainly,
    find_devices,
    use_after,
)
from firmament.core.rules.devices.views import ViewKind

Demand: TypeAlias = tuple[ClaimSpec, ...]
"""The claims of a task that need devices."""
Picks: TypeAlias = tuple[tuple[Pick, ...], ...]
"""Devices of a task, by claim."""

MOST_ROOM = 1_000
"""More tasks than a machine ever gets in a round; claims that need no devices have that much room."""
MOST_STATES = 100_000
"""States that are remembered."""
MOST_PICKS_TOGETHER = 5_000
"""Devices that are tried at most when all tasks of a machine are looked at anew."""


@dataclass(eq=False, slots=True)
class ServedState:
    """Machines of a kind, with so much in use, to which tasks have come."""

    number: int
    """Its number in the table."""
    kind: ViewKind
    """What such machines see."""
    base: ViewUse
    """What was in use before the tasks came."""
    tasks: tuple[Demand, ...]
    """What the tasks that came have claimed."""
    picks: tuple[Picks, ...]
    """By task."""
    use: ViewUse
    """What is in use now."""
    after: dict[Demand, ServedState | str] = field(default_factory=dict)
    """By one more task: the state with it, or why there is none; "" if devices are taken."""
    room: dict[Demand, int] = field(default_factory=dict)
    """How many more such tasks are served."""


class StateTable:
    """The states that are known, by number."""

    def __init__(self, selectors: DeviceSelectors) -> None:
        self._selectors = selectors
        self.states: dict[int, ServedState] = {}
        self._numbers = count()

    def begin(self, kind: ViewKind, use: ViewUse) -> ServedState:
        """Return the state of machines of a kind to which nobody has come."""
        return self._keep(kind, use, (), (), use)

    def _keep(
        self,
        kind: ViewKind,
        base: ViewUse,
        tasks: tuple[Demand, ...],
        picks: tuple[Picks, ...],
        use: ViewUse,
    ) -> ServedState:
        """Return the state of these tasks, whichever devices they have got: the one that is known, if any."""
        key = ("state", base, tuple(sorted(map(id, tasks))) if len(tasks) > 1 else tuple(map(id, tasks)))
        found: ServedState | None = kind.memory.get(key)
        if found is None:
            # Explanations may look while a round is solved: the second finds out the same once more.
            found = ServedState(next(self._numbers), kind, base, tasks, picks, use)
            self.states[found.number] = kind.memory[key] = found
        return found

    def add(self, state: ServedState, demand: Demand) -> ServedState | str:
        """Return the state with one more task, or why there is none."""
        found = state.after.get(demand)
        if found is None:
            found = state.after[demand] = self._add(state, demand)
        return found

    def _add(self, state: ServedState, demand: Demand) -> ServedState | str:
        more = find_devices(state.kind, state.use, demand, self._selectors)
        if more.picks is not None:
            use = use_after(state.kind, state.use, more.picks)
            return self._keep(state.kind, state.base, (*state.tasks, demand), (*state.picks, more.picks), use)
        if not state.tasks or more.fault:
            return more.fault
        together = self._serve_together(state, demand)
        if together.picks is None:
            return together.fault
        picks: list[Picks] = []
        first = 0
        for task in (*state.tasks, demand):
            picks.append(together.picks[first : first + len(task)])
            first += len(task)
        use = use_after(state.kind, state.base, together.picks)
        return self._keep(state.kind, state.base, (*state.tasks, demand), tuple(picks), use)

    def _serve_together(self, state: ServedState, demand: Demand) -> SearchOutcome:
        claims = tuple(claim for task in (*state.tasks, demand) for claim in task)
        return find_devices(state.kind, state.base, claims, self._selectors, MOST_PICKS_TOGETHER)

    def count_served(self, state: ServedState, demand: Demand) -> int:
        """Return how many more tasks with a demand are served: at least one if one is, and the very number for a state
        without tasks. Where tasks have come, giving them other devices may make more room.
        """
        chain = []
        room = 0
        while True:
            known = state.room.get(demand)
            if known is None:
                # 0 does not say whether other devices would do for those that came, nor why there are none.
                known = count_plainly(state.kind, state.use, demand, self._selectors) or None
                if known is not None:
                    state.room[demand] = known
            if known is not None:
                room = known
                break
            chain.append(state)
            following = self.add(state, demand)
            if isinstance(following, str) or len(chain) >= MOST_ROOM:
                chain.pop()
                state.room[demand] = room = int(not isinstance(following, str))
                break
            state = following
        for each in reversed(chain):
            room += 1
            each.room[demand] = room
        return room

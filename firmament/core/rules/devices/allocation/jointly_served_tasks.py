"""Keeps the states that machines get into as a round places tasks: which sets of tasks a machine's devices can serve.

A state stands for all machines that see equal devices, have the same devices in use, and got the same tasks in this
round. A result computed for one state of devices holds for all machines in that state. The order of the tasks does
not matter: if the devices left over do not serve one more task, all tasks of the round get devices anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from firmament.core.rules.devices.allocation.matching import DeviceSelectors
from firmament.core.rules.devices.allocation.plain_count import count_plainly
from firmament.core.rules.devices.allocation.search import (
    Pick,
    SearchOutcome,
    ViewUse,
    find_devices,
    use_after,
)
from firmament.core.rules.devices.objects.requests import ClaimSpec
from firmament.core.rules.devices.running_number import RunningNumber
from firmament.core.rules.devices.visible_devices import ViewKind

Demand: TypeAlias = tuple[ClaimSpec, ...]
"""The claims of a task that need devices."""
Picks: TypeAlias = tuple[tuple[Pick, ...], ...]
"""The devices of a task, for each of its claims."""

MOST_ROOM = 1_000
"""The most tasks of one shape that are counted or booked on a machine; no machine gets more in a round."""
MOST_STATES = 100_000
"""If the table has more states than this, a new ledger forgets all of them."""
MOST_PICKS_TOGETHER = 20_000
"""The most devices that a search tries when it chooses devices anew for all tasks of a machine."""


@dataclass(eq=False, slots=True)
class ServedState:
    """The devices in use on machines of one kind, before and after a round placed certain tasks there."""

    number: int
    """The number of the state in the table."""
    kind: ViewKind
    """The devices that machines in this state see."""
    base: ViewUse
    """The devices in use before the round placed these tasks."""
    tasks: tuple[Demand, ...]
    """The claims of each task that the round placed."""
    picks: tuple[Picks, ...]
    """The devices of each task that the round placed."""
    use: ViewUse
    """The devices in use now."""
    after: dict[Demand, ServedState | str] = field(default_factory=dict)
    """For each demand of one more task: the state that includes the task, or why the devices do not serve the task.

    The reason is "" if devices that would serve the task are in use."""
    room: dict[Demand, int] = field(default_factory=dict)
    """By demand: how many more tasks with this demand the devices serve."""
    fixed_room: dict[Demand, int] = field(default_factory=dict)
    """By demand: how many more tasks with this demand the devices serve if each task keeps the devices that it got."""


class StateTable:
    """All states of machines that have occurred, by number."""

    def __init__(self, selectors: DeviceSelectors) -> None:
        self._selectors = selectors
        self.states: dict[int, ServedState] = {}
        self._numbers = RunningNumber()

    def begin(self, kind: ViewKind, use: ViewUse) -> ServedState:
        """Return the state of machines of a kind that got no task in this round yet."""
        return self._keep(kind, use, (), (), use)

    def _keep(
        self,
        kind: ViewKind,
        base: ViewUse,
        tasks: tuple[Demand, ...],
        picks: tuple[Picks, ...],
        use: ViewUse,
    ) -> ServedState:
        """Return the known state with these tasks, whichever devices they have in it; if there is none, create one."""
        key = ("state", base, tuple(sorted(map(id, tasks))) if len(tasks) > 1 else tuple(map(id, tasks)))
        found: ServedState | None = kind.memory.get(key)
        if found is None:
            # One thread may explain a task while another solves a round, and both may create the same state.
            found = ServedState(next(self._numbers), kind, base, tasks, picks, use)
            self.states[found.number] = kind.memory[key] = found
        return found

    def add(self, state: ServedState, demand: Demand) -> ServedState | str:
        """Return the state with one more task, or why the devices do not serve the task."""
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
        tasks = (*state.tasks, demand)
        picks: list[Picks] = [()] * len(tasks)
        first = 0
        for place in self._order(state.kind, tasks):
            picks[place] = together.picks[first : first + len(tasks[place])]
            first += len(tasks[place])
        use = use_after(state.kind, state.base, together.picks)
        return self._keep(state.kind, state.base, tasks, tuple(picks), use)

    def _serve_together(self, state: ServedState, demand: Demand) -> SearchOutcome:
        """Search for devices for all tasks of a state and for one more task.

        Tasks with the fewest devices to choose from come first.
        """
        tasks = (*state.tasks, demand)
        claims = tuple(claim for place in self._order(state.kind, tasks) for claim in tasks[place])
        return find_devices(state.kind, state.base, claims, self._selectors, MOST_PICKS_TOGETHER)

    def _order(self, kind: ViewKind, tasks: Sequence[Demand]) -> list[int]:
        """Return the indexes of tasks, sorted by how many devices each could get; equal tasks are neighbours."""
        first: dict[Demand, tuple[int, int]] = {}
        for place, task in enumerate(tasks):
            if task not in first:
                first[task] = self._count_choices(kind, task), place
        return sorted(range(len(tasks)), key=lambda place: first[tasks[place]])

    def _count_choices(self, kind: ViewKind, task: Demand) -> int:
        return sum(
            self._selectors.find_candidates(kind, option).mask.bit_count()
            for claim in task
            for request in claim.requests
            for option in request.options
        )

    def count_served_one_by_one(self, number: int, demand: Demand) -> int:
        """Return how many more tasks with ``demand`` a state without tasks serves if no task changes its devices.

        The number is exact.
        """
        state = self.states[number]
        chain: list[ServedState] = []
        while demand not in state.fixed_room:
            plain = count_plainly(state.kind, state.use, demand, self._selectors)
            following = self.add(state, demand)
            if plain or isinstance(following, str) or len(chain) >= MOST_ROOM:
                state.fixed_room[demand] = plain or 0
                break
            chain.append(state)
            state = self.begin(state.kind, following.use)
        room = state.fixed_room[demand]
        for each in reversed(chain):
            room += 1
            each.fixed_room[demand] = room
        return room

    def count_served(self, number: int, demand: Demand) -> int:
        """Return how many more tasks with ``demand`` a state serves: exact if the state has no tasks.

        If the state has tasks, the result is a lower bound, and at least 1 if one more task is served. If the tasks
        in the state got other devices, more tasks might be served.
        """
        state = self.states[number]
        chain = []
        room = 0
        while True:
            known = state.room.get(demand)
            if known is None:
                # A count of 0 is not stored: one more task might be served if earlier tasks got other devices. Only
                # `add` finds out, and states the reason if not.
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

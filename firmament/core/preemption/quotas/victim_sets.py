"""Lists sets of possible victims in the order in which they are tried; gangs that break leave as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.units import QuotaUnit


@dataclass(frozen=True, slots=True)
class VictimChoice:
    """Possible victims of a unit, the members of a gang side by side; ``lenient``: as for `ShareRule`."""

    unit: QuotaUnit
    candidates: list[int] = field(default_factory=list)
    rank: dict[int, int] = field(default_factory=dict)
    """By victim: its position in the order of fair shares; empty where shares do not decide."""
    lenient: bool = False


class Reclaimed(NamedTuple):
    """Victims of a unit, and the state after they have left and the unit has places."""

    victims: list[int]
    state: PreemptionState
    choice: VictimChoice
    """The candidates from which the victims were chosen."""
    confined: Mapping[int, Bool] = MappingProxyType({})
    """By class: bool[M], the only machines that were considered."""
    given_up: tuple[tuple[int, int], ...] = ()
    """Class and machine of each place that the unit gave up."""


def list_victim_sets(
    state: PreemptionState,
    candidates: Sequence[int],
    weigh: Callable[[list[int]], tuple[object, ...]],
    suffices: Callable[[list[int]], bool],
) -> Iterator[list[int]]:
    """Yield all sets of candidates whose eviction suffices, the set with the smallest weight first.

    A set includes the members of gangs that would be left incomplete. ``weigh`` returns first by how much a set exceeds
    budgets, then its size. If larger sets are never better, smaller sets come first, so that the larger ones need not
    be listed.
    """
    everybody = add_companions(state, candidates, [])
    by_size = len(everybody) == len(candidates) and not state.count_beyond(everybody)
    by_size = by_size and all(keeps_gangs(state, [each]) for each in everybody)
    seen: set[frozenset[int]] = set()
    sets: list[list[int]] = []
    apart = _list_separable(state, candidates)
    for size in range(1, len(apart) + 1):
        for chosen in combinations(apart, size):
            going = add_companions(state, chosen, [])
            if frozenset(going) not in seen:
                seen.add(frozenset(going))
                if suffices(going):
                    sets.append(going)
        if by_size:
            yield from sorted(sets, key=weigh)
            sets.clear()
    yield from sorted(sets, key=weigh)


def _list_separable(state: PreemptionState, candidates: Sequence[int]) -> list[int]:
    """Return candidates without those that always leave with an earlier one, as their gang can spare no member."""
    if not len(state.spare):
        return [*candidates]
    inseparable: set[int] = set()
    found = []
    for candidate in candidates:
        gang = int(state.preemption.gang[candidate])
        if gang not in inseparable:
            found.append(candidate)
        if gang >= 0 and state.spare[gang] == 0:
            inseparable.add(gang)
    return found


def add_companions(state: PreemptionState, victims: Sequence[int], beside: Sequence[int]) -> list[int]:
    """Return ``victims`` and all members of the gangs that break if ``victims`` and ``beside`` leave.

    Tasks in ``beside`` are not in the result.
    """
    every = state.add_gangs([*beside, *victims])
    return [victim for victim in every if victim not in beside]


def count_workloads(state: PreemptionState, victims: Sequence[int]) -> int:
    """Return how many workloads leave; the tasks of a gang that can spare no member count as one."""
    if not len(state.spare):
        return len(victims)
    gang = state.preemption.gang[[*victims]]
    whole = (gang >= 0) & (state.spare[gang] == 0)
    gangs = {state.gangs.list_chain(number)[-1] for number in set(gang[whole].tolist())}
    return len(victims) - int(np.count_nonzero(whole)) + len(gangs)


def keeps_gangs(state: PreemptionState, victims: Sequence[int]) -> bool:
    """Return whether all gangs keep enough members or leave entirely if ``victims`` leave."""
    return len(state.add_gangs([*victims])) == len(victims)

"""States of preemption in a few words: who waits, what machines have free, and who runs there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import LOWEST_WEIGHT, PreemptionProblem, PreemptionTuning
from tests.support.core import problem


@dataclass(frozen=True)
class Victim:
    """A task on a machine."""

    machine: int
    size: tuple[int, ...]
    priority: int = 0
    started: float = 0.0
    gang: int = -1
    budgets: tuple[int, ...] = ()
    leaving: bool = False
    granted: bool = False


@dataclass(frozen=True)
class Waiting:
    """Some equal tasks without a place; ``own``: the gang on machines that they belong to."""

    size: tuple[int, ...]
    priority: int = 10
    count: int = 1
    own: int = -1


@dataclass(frozen=True)
class Gang:
    """What a gang can lose; ``above``: the gang that it is a group of."""

    spare: int
    above: int = -1
    counted: bool = True
    together: bool = True


def pose(
    waiting: Sequence[Waiting],
    victims: Sequence[Victim],
    allowed: Sequence[int] = (),
    gangs: Sequence[Gang] = (),
) -> PreemptionProblem:
    """The input of preemption; ``victims`` must be in its order."""
    keys = [(each.machine, each.priority, -each.started) for each in victims]
    assert keys == sorted(keys), "by machine, then the lowest priority, then the latest start first"

    def column(name: str, kind: type = np.int64) -> np.ndarray:
        return np.array([getattr(each, name) for each in victims], dtype=kind)

    found = PreemptionProblem(
        priority=np.array([each.priority for each in waiting], dtype=np.int64),
        may=np.ones(len(waiting), dtype=np.bool_),
        machine=column("machine"),
        victim_priority=column("priority"),
        started=column("started", np.float64),
        weight=column("priority") + LOWEST_WEIGHT,
        leaving=column("leaving", np.bool_),
        kind=np.arange(len(victims)),
        requests=np.array([each.size for each in victims], dtype=np.int64).reshape(
            len(victims), len(waiting[0].size)
        ),
        budgets=tuple(each.budgets for each in victims),
        allowed=np.array(allowed, dtype=np.int64),
        row=np.arange(len(victims)) + 100,
        sequence=np.arange(len(victims)) + 200,
        granted=column("granted", np.bool_),
    )
    if not gangs:
        return replace(found, gang=np.full(len(victims), -1))
    return replace(
        found,
        gang=column("gang"),
        spare=np.array([each.spare for each in gangs], dtype=np.int64),
        above=np.array([each.above for each in gangs], dtype=np.int64),
        counted=np.array([each.above >= 0 and each.counted for each in gangs], dtype=np.bool_),
        together=np.array([each.together for each in gangs], dtype=np.bool_),
        own=np.array([each.own for each in waiting], dtype=np.int64),
    )


def state(
    waiting: Sequence[Waiting],
    free: Sequence[Sequence[int]],
    victims: Sequence[Victim] = (),
    *,
    allowed: Sequence[int] = (),
    gangs: Sequence[Gang] = (),
    placed: Sequence[tuple[int, int]] = (),
    feasible: Sequence[Sequence[bool]] | None = None,
    pins: dict[int, list[int]] | None = None,
    tuning: PreemptionTuning | None = None,
) -> PreemptionState:
    """The state after a round placed (class, machine) of ``placed``."""
    posed = problem(
        tasks=[each.count for each in waiting],
        requests=[each.size for each in waiting],
        free=free,
        priority=[each.priority for each in waiting],
        feasible=feasible,
        pins=pins,
    )
    chosen = Assignments.from_single_tasks(list(placed))
    return PreemptionState(
        posed, pose(waiting, victims, allowed, gangs), chosen, tuning or PreemptionTuning()
    )

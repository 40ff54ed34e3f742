"""Measures rounds of waiting tasks, in turn by themselves and together with a process that plans moves of running
tasks.

``python -m benchmarks.rounds.beside_move_planning MACHINES TASKS CLASSES`` is that process: it says when it is ready,
and then plans for ever.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import count

import numpy as np

from benchmarks.quality.rescheduling import Drifted, build_drifted
from firmament.core.events import BindingReport, TaskRemoved, TasksSubmitted
from firmament.core.rescheduling.plan_moves import PlanOptions, plan_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

_WAITING = 500
_WARM = 5
_PAUSE = 0.05


def measure_beside(machines: int, tasks: int, classes: int, pairs: int) -> dict[str, float]:
    """Return the median seconds of a round of 500 tasks, alone and beside a planner of moves.

    With them: the median ratio of the two over ``pairs`` pairs of rounds.
    """
    scheduler, _ = build_drifted(Drifted(machines, tasks, classes))
    words = [
        sys.executable,
        "-m",
        "benchmarks.rounds.beside_move_planning",
        str(machines),
        str(tasks),
        str(classes),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as planner:
        try:
            assert planner.stdout is not None
            planner.stdout.readline()
            planner.send_signal(signal.SIGSTOP)
            rounds = count()
            for _ in range(_WARM):
                _round(scheduler, next(rounds), classes)
            alone, beside = [], []
            for _ in range(pairs):
                alone.append(_round(scheduler, next(rounds), classes))
                planner.send_signal(signal.SIGCONT)
                time.sleep(_PAUSE)
                beside.append(_round(scheduler, next(rounds), classes))
                planner.send_signal(signal.SIGSTOP)
        finally:
            planner.kill()
    ratios = np.array(beside) / np.array(alone)
    return {
        "alone": float(np.median(alone)),
        "beside": float(np.median(beside)),
        "ratio": float(np.median(ratios)),
    }


def _round(scheduler: Scheduler, number: int, classes: int) -> float:
    """Return the seconds of a round for new tasks, which are removed afterwards."""
    rng = np.random.default_rng(number)
    coming = rng.integers(1, classes + 1, _WAITING).tolist()
    scheduler.apply([TasksSubmitted(cls, (f"r{number}-{index}",)) for index, cls in enumerate(coming)])
    began = time.perf_counter()
    placed = scheduler.run_round().deltas
    took = time.perf_counter() - began
    scheduler.report([BindingReport(each.uid, each.machine, True) for each in placed])
    scheduler.apply([TaskRemoved(f"r{number}-{index}") for index in range(_WAITING)])
    return took


def plan_for_ever(machines: int, tasks: int, classes: int) -> None:
    """Plan moves of a cluster again and again."""
    scheduler, uids = build_drifted(Drifted(machines, tasks, classes))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        plan_moves(scheduler, dict.fromkeys(uids, 0.0), PlanOptions(20.0, local_moves=100), OrToolsSolver())


if __name__ == "__main__":
    plan_for_ever(*map(int, sys.argv[1:]))

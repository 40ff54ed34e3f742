"""A queue in front of a cluster, event by event: no wall clock, the real scheduler's core."""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass

from firmament.core.events import BindingReport, ClassDefined, RecordUpserted, TaskRemoved, TasksSubmitted
from tests.support.core import START, Clock, machine, scheduler, task_class


@dataclass(frozen=True, slots=True)
class Arrival:
    """A task that arrives at ``time`` (seconds from the start) and runs for ``seconds`` once it is placed."""

    time: float
    program: str
    seconds: float


def response_times(policy: str, arrivals: Sequence[Arrival], *, slots: int) -> list[float]:
    """Seconds from arrival to end of every task, on ``slots`` machines that run one task each.

    The scheduler learns the mean run time of a program from its tasks that have ended, and from nothing else.
    """
    clock = Clock()
    core = scheduler(*(machine(f"m{index}", cpu=1_000) for index in range(slots)), policy=policy, clock=clock)
    numbers = {name: index + 1 for index, name in enumerate(sorted({each.program for each in arrivals}))}
    for name, number in numbers.items():
        content = task_class(cpu=1_000, annotations=(("firmament.io/program", name),))
        core.apply([ClassDefined(number, content)])
    # Ends before arrivals at the same time; then in order of index.
    due = [(each.time, 1, index) for index, each in enumerate(arrivals)]
    heapq.heapify(due)
    taught: dict[str, list[float]] = {}
    responses = [0.0] * len(arrivals)
    while due:
        time, kind, index = heapq.heappop(due)
        clock.now = START + time
        task = arrivals[index]
        if kind == 1:
            core.apply([TasksSubmitted(numbers[task.program], (str(index),), created=(clock.now,))])
        else:
            responses[index] = time - task.time
            taught.setdefault(task.program, []).append(task.seconds)
            seconds = taught[task.program]
            payload = {"count": len(seconds), "meanSeconds": sum(seconds) / len(seconds)}
            record = RecordUpserted("RuntimeHistory", task.program, json.dumps(payload).encode())
            core.apply([TaskRemoved(str(index)), record])
        if due and due[0][0] == time:
            continue  # everything of one moment first
        while core.next_round_in() == 0.0:
            deltas = core.run_round().deltas
            core.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in deltas])
            for delta in deltas:
                heapq.heappush(due, (time + arrivals[int(delta.uid)].seconds, 0, int(delta.uid)))
            if not deltas:
                break
    assert all(responses), "a task never ended"
    return responses

"""Plays a history and records what every round answers; as a module, a fixed history, printed as JSON."""

from __future__ import annotations

import json
import random
import sys

from firmament.core.configuration import RoundOptions
from firmament.core.events import MachineRemoved, MachineUpserted, TaskRemoved, TasksSubmitted
from firmament.core.model import Machine, Taint, TaskClass, Toleration
from tests.support.histories.pair import Pair
from tests.support.histories.strategies import Apply, History, Round, Step, definitions


def record(history: History, options: RoundOptions | None = None) -> list:
    """Per round: its deltas (uid, machine) and its messages (uids, message), in the order they were given."""
    both = Pair(options)
    both.step(definitions(history.classes))
    rounds = []
    for step in history.steps:
        if isinstance(step, Round):
            result = both.round(step.meanwhile)
            rounds.append(
                [
                    [[delta.uid, delta.machine] for delta in result.deltas],
                    [[list(group.uids), group.message] for group in result.unscheduled],
                ]
            )
        else:
            both.step(step)
    return rounds


def fixed_history() -> History:
    """Names, labels and taints that land in hash tables, machines that come and go, more tasks than room."""
    rnd = random.Random(11)
    classes = tuple(
        TaskClass(
            requests=(("cpu", rnd.randint(1, 3)), ("memory", rnd.randint(1, 3)), (f"x/{index}", index % 2)),
            labels=(("app", f"app-{index}"),),
            tolerations=(Toleration("dedicated", "Exists"),) if index % 2 else (),
        )
        for index in range(5)
    )
    machines = [
        Machine(
            f"machine-{index}",
            {"cpu": rnd.randint(4, 16), "memory": rnd.randint(4, 16), "pods": 8, "x/1": 3, "x/3": 1},
            labels={f"label-{n}": str(n * index) for n in range(3)},
            taints=(Taint("dedicated", "", "NoSchedule"),) if index % 3 == 0 else (),
        )
        for index in range(9)
    ]
    steps: list[Step] = [Apply(tuple(map(MachineUpserted, machines)))]
    for batch in range(6):
        uids = [f"uid-{batch}-{n}" for n in range(10)]
        submitted = [
            TasksSubmitted(rnd.randint(1, 5), (uid,), priority=rnd.randint(0, 1), job=f"job-{batch}")
            for uid in uids
        ]
        steps += [Apply(tuple(submitted)), Round(), Apply((TaskRemoved(f"uid-{batch}-3"),)), Round()]
        if batch == 3:
            steps.append(Apply((MachineRemoved("machine-2"), MachineRemoved("machine-5"))))
    return History(classes, tuple(steps))


if __name__ == "__main__":
    json.dump(record(fixed_history()), sys.stdout)

"""Tasks that wait for others to leave take room that becomes free meanwhile, whatever happens beside."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineRemoved,
    TaskRemoved,
    TasksSubmitted,
)
from tests.firmament.core.preemption.test_exhaustive_preemption import case
from tests.oracle.cluster import ASSUMED, BOUND, OracleCluster, request
from tests.support.core import machine, task_class
from tests.support.effort import examples
from tests.support.histories.pair import NO_RESERVATIONS, Pair
from tests.support.histories.strategies import Apply, Happening


def could_move(oracle: OracleCluster, uid: str, now: float) -> bool:
    """Whether a machine has room for a task that waits, beside everybody who is there, itself where it waits.

    Room that is promised to a task in its back-off is not room.

    Of a task whose machine is gone the driver will say so; it is placed anew then.
    """
    task = oracle.tasks[uid]
    if task.machine not in oracle.machines:
        return False
    left = oracle.free_of_promises(task.machine, now)
    at_ease = all(left[resource] >= 0 for resource in request(task.content))
    return at_ease or any(
        oracle.fits_beside_promises(uid, name, now) for name in oracle.machines if name != task.machine
    )


@settings(max_examples=examples(60))
@given(st.integers(0, 10**6))
def test_nobody_waits_for_others_while_there_is_room(seed: int):
    """The oracle checks every step besides: nothing is lost, counted twice or overcommitted."""
    rnd = random.Random(seed)
    pair = Pair(NO_RESERVATIONS)
    pair.apply(*case(seed, waiting=2).events())
    for number in range(14):
        step = happening(rnd, pair.oracle, number)
        if rnd.random() < 0.3:
            other = happening(rnd, pair.oracle, 100 + number)
            pair.apply(*step)
            pair.round(tuple(meanwhile(other)))
        else:
            pair.apply(*step)
        reported(rnd, pair)
        pair.settle()
        waiting = [uid for uid in pair.oracle.tasks if pair.oracle.waits_for_others(uid)]
        assert not [uid for uid in waiting if could_move(pair.oracle, uid, pair.now)]


def meanwhile(events: list[Event]) -> list[Happening]:
    return [Apply(tuple(events))] if events else []


def happening(rnd: random.Random, oracle: OracleCluster, number: int) -> list[Event]:
    """Events that make room or take it."""
    bound = sorted(uid for uid, task in oracle.tasks.items() if task.state == BOUND)
    leaving = [uid for uid in bound if oracle.tasks[uid].leaving]
    assumed = sorted(uid for uid, task in oracle.tasks.items() if task.state == ASSUMED)
    kind = rnd.choice(("come", "come", "go", "go", "leave", "cancel", "machine", "broken", "nothing"))
    some = {"go": bound, "leave": leaving, "cancel": assumed}.get(kind)
    if some:
        return [TaskRemoved(rnd.choice(some))]
    if kind == "come":
        content = task_class(rnd.randint(1, 4), rnd.randint(1, 4))
        submitted = TasksSubmitted(50 + number, (f"new{number}",), priority=rnd.randint(0, 5))
        return [ClassDefined(50 + number, content), submitted]
    if kind == "machine":
        return [machine(f"extra{number}", cpu=rnd.randint(1, 4), memory=rnd.randint(1, 4))]
    if kind == "broken" and len(oracle.machines) > 1:
        return [MachineRemoved(rnd.choice(sorted(oracle.machines)))]
    return []


def reported(rnd: random.Random, pair: Pair) -> None:
    """What a driver might report: bindings of tasks that wait for nobody, evictions that failed."""
    oracle = pair.oracle
    ready = [
        uid
        for uid, task in oracle.tasks.items()
        if task.state == ASSUMED and not oracle.waits_for_others(uid)
    ]
    leaving = [uid for uid, task in oracle.tasks.items() if task.state == BOUND and task.leaving]
    reports = [(uid, rnd.random() < 0.8) for uid in sorted(ready) if rnd.random() < 0.7]
    reports += [(uid, False) for uid in sorted(leaving) if rnd.random() < 0.2]
    for uid, bound in reports:
        if uid in oracle.tasks:
            report = BindingReport(uid, oracle.tasks[uid].machine, bound=bound)
            pair.scheduler.report([report])
            oracle.report(report, pair.now)
            pair.compare()
    pair.now += rnd.choice((0.0, 5.0))

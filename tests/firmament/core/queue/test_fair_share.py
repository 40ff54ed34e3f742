"""Fair shares between namespaces under overload, by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firmament.core.configuration import CoreConfiguration, FairShare
from firmament.core.events import ClassDefined, Event, TaskRemoved, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import TaskClass
from firmament.core.queue.fair_shares import share_levels
from firmament.core.scheduler import Scheduler
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import machine, placed, uids

A, B = 1, 2
MACHINES, SLOTS = 10, 10


def content(namespace: str, **requests: int) -> TaskClass:
    return TaskClass(requests=tuple(sorted((requests or {"cpu": 1000}).items())), namespace=namespace)


def core(share: FairShare | None, *events: Event) -> Scheduler:
    made = Scheduler(
        configuration=CoreConfiguration(fair_share=share), solver=OrToolsSolver(), clock=lambda: 1_000_000.0
    )
    made.apply([*(machine(f"m{index}", cpu=SLOTS * 1000) for index in range(MACHINES)), *events])
    return made


class Overload:
    """Namespaces that keep five times as much waiting as there is room; a fifth of what runs ends per round."""

    def __init__(self, share: FairShare | None, classes: dict[int, TaskClass]) -> None:
        self.core = core(share, *(ClassDefined(number, each) for number, each in classes.items()))
        self.running: dict[str, int] = {}
        self._random = random.Random(7)
        for number in classes:
            self.core.apply([TasksSubmitted(number, uids(f"{number}", 5 * MACHINES * SLOTS))])

    def round(self) -> dict[int, int]:
        """End some, run a round; how many run of each class."""
        ended = [uid for uid in sorted(self.running) if self._random.random() < 0.2]
        for uid in ended:
            self.core.apply([TaskRemoved(uid), TasksSubmitted(self.running.pop(uid), (f"{uid}'",))])
        for uid in placed(self.core.run_round()):
            self.running[uid] = int(uid.split("-")[0])
        counts = list(self.running.values())
        return {number: counts.count(number) for number in sorted(set(counts))}


def test_weights_of_three_to_one_hold_under_overload_with_nothing_idle():
    overload = Overload(FairShare({"a": 3.0}), {A: content("a"), B: content("b")})
    for _ in range(20):
        found = overload.round()
        assert sum(found.values()) == MACHINES * SLOTS
    assert found[A] == pytest.approx(75, abs=2)


def test_running_shares_approach_the_weights_from_the_wrong_side():
    overload = Overload(FairShare({"a": 3.0}), {B: content("b"), A: content("a")})
    overload.core = core(
        FairShare({"a": 3.0}),
        ClassDefined(A, content("a")),
        ClassDefined(B, content("b")),
        TasksSubmitted(B, uids("2", 500)),
    )
    assert overload.round() == {B: 100}
    overload.core.apply([TasksSubmitted(A, uids("1", 500))])
    for _ in range(19):
        found = overload.round()
        assert sum(found.values()) == MACHINES * SLOTS
    assert found[A] == pytest.approx(75, abs=2)


def test_one_alone_gets_everything():
    assert Overload(FairShare({"a": 1.0}), {A: content("a")}).round() == {A: 100}


def test_what_one_does_not_want_goes_to_the_others():
    made = core(FairShare({"a": 3.0}), ClassDefined(A, content("a")), ClassDefined(B, content("b")))
    made.apply([TasksSubmitted(A, uids("1", 30)), TasksSubmitted(B, uids("2", 500))])
    found = placed(made.run_round())
    assert sum(uid.startswith("1") for uid in found) == 30
    assert len(found) == 100


def test_shares_are_of_the_dominant_resource():
    classes = {A: content("a", cpu=1000, memory=2**30), B: content("b", cpu=100, memory=4 * 2**30)}
    made = core(FairShare(), *(ClassDefined(number, each) for number, each in classes.items()))
    made.apply([TasksSubmitted(A, uids("1", 500)), TasksSubmitted(B, uids("2", 500))])
    found = placed(made.run_round())
    first = sum(uid.startswith("1") for uid in found)
    share_of_cpu = first * 1000 / (MACHINES * SLOTS * 1000)
    assert share_of_cpu >= 0.5 - 0.02


def test_priorities_still_come_first():
    made = core(FairShare({"a": 100.0}), ClassDefined(A, content("a")), ClassDefined(B, content("b")))
    made.apply([TasksSubmitted(A, uids("1", 500)), TasksSubmitted(B, uids("2", 500), priority=1)])
    assert all(uid.startswith("2") for uid in placed(made.run_round()))


def test_parked_tasks_keep_their_namespace_claim():
    """What fits nowhere at the moment is demand all the same: others may borrow, but do not outbid what comes next."""
    cluster = Cluster()
    events: list[Event] = [
        machine("m", cpu=10_000),
        ClassDefined(A, content("a")),
        ClassDefined(B, content("b")),
    ]
    large = ClassDefined(3, content("a", cpu=20_000))
    apply_events(
        cluster, [*events, large, TasksSubmitted(3, ("large",)), TasksSubmitted(A, uids("1", 2))], 0.0
    )
    apply_events(cluster, [TasksSubmitted(B, uids("2", 10))], 0.0)
    cluster.tasks.unschedulable[cluster.tasks.row_of["large"]] = True
    waiting = cluster.tasks.in_state(TaskPhase.PENDING)[1:]
    levels = share_levels(cluster, FairShare(), waiting).tolist()
    assert levels[:2] == [2, 2]
    assert levels[2:] == [2] * 5 + [1] * 3 + [0] * 2


def test_three_resources_and_none():
    names = {"cpu": 1000, "memory": 2**30, "example.com/gpu": 1}
    cluster = Cluster()
    waiting = np.arange(6)
    classes: list[Event] = [
        ClassDefined(n, content(key, **{key: each})) for n, (key, each) in enumerate(names.items(), 1)
    ]
    apply_events(cluster, [*classes, *(TasksSubmitted(n, uids(f"{n}", 2)) for n in (1, 2, 3))], 0.0)
    assert share_levels(cluster, FairShare(), waiting).tolist() == [0] * 6  # nothing to share
    apply_events(cluster, [machine("m", cpu=2000, memory=2**31, extended={"example.com/gpu": 2})], 0.0)
    found = share_levels(cluster, FairShare(), waiting).tolist()
    assert found == [2, 0, 2, 0, 2, 0]  # half of its own resource each is more than a third


def share_of_a(refused: bool, *prioritised: int) -> list[int]:
    """The levels of six tasks of a, each younger than the next, beside ten of b, that each take a tenth of all."""
    cluster = Cluster()
    events: list[Event] = [machine("m", cpu=10_000)]
    for number, name, count in ((A, "a", 6), (B, "b", 10)):
        events.append(ClassDefined(number, content(name)))
        for index in range(count):
            priority = 9 if number == A and index in prioritised else 0
            created = (100.0 - index,)
            events.append(TasksSubmitted(number, (f"{name}-{index}",), priority=priority, created=created))
    apply_events(cluster, events, 0.0)
    rows = np.array([cluster.tasks.row_of[f"a-{index}"] for index in range(6)])
    cluster.tasks.refused[[cluster.tasks.row_of[f"b-{index}"] for index in range(10)]] = refused
    return share_levels(cluster, FairShare(), rows).tolist()


def test_within_a_namespace_the_most_important_and_then_the_oldest_are_within_its_share():
    assert share_of_a(False) == [1, 2, 2, 2, 2, 2]
    assert share_of_a(False, 0) == [2, 1, 2, 2, 2, 2]
    assert share_of_a(False, 0, 1) == [2, 2, 1, 2, 2, 2]


def test_what_was_refused_for_good_claims_no_share():
    assert share_of_a(True) == [2] * 6

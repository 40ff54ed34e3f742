"""The laws of constraints hold on a board for each rule by itself and for all together, as rounds compile them.

What is placed and given back leaves no trace; what fits one machine is what fits of all; the order of tasks does not
matter; a copy is independent; and a board with tasks placed says what a board says that is made where these run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.board.board import Board
from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import (
    Disk,
    HostPort,
    Job,
    Machine,
    NewStorage,
    NodeSelectorTerm,
    Requirement,
    StorageRoom,
    Taint,
    TaskClass,
    Toleration,
    VolumeRule,
)
from firmament.core.rules.framework.limit_rule import LimitRule
from firmament.core.rules.registry import DEFAULT, LIMIT_RULES, POD_RULES
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import scheduler, task_class
from tests.support.effort import examples
from tests.support.rules import near, spread

APPS = ("web", "db", "log")
MACHINES, WAITING = 5, 4
DISK, ATTACHMENT = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),)), "attachable-volumes-csi-d"


def host(draw: Random) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement("kubernetes.io/hostname", "In", (f"m{draw.randrange(MACHINES)}",)),))


RULES: Mapping[str, Callable[[Random], Mapping[str, object]]] = {
    "resources": lambda draw: {"requests": (("cpu", draw.randint(1, 3)), ("memory", draw.randint(0, 3)))},
    "node_name": lambda draw: {"machine": f"m{draw.randrange(MACHINES)}"},
    "taints": lambda _: {"tolerations": (Toleration("dedicated", "Exists"),)},
    "node_affinity": lambda _: {"required": (DISK,)},
    "volumes": lambda draw: {"volumes": (VolumeRule((host(draw),)),)},
    "storage": lambda _: {"new_storage": (NewStorage("fast", 5, 5),)},
    "attachments": lambda draw: {
        "requests": (("cpu", 1), (ATTACHMENT, 1)),
        "attachments": ((ATTACHMENT, draw.choice("vw")),),
    },
    "ports": lambda draw: {"ports": (HostPort(80, ip=draw.choice(["", "10.0.0.1", "10.0.0.2"])),)},
    "disks": lambda draw: {"disks": (Disk("d", read_only=draw.random() < 0.5, claim=draw.random() < 0.3),)},
    "affinity": lambda draw: {"affinity": near(draw.choice(APPS), draw.choice(["zone", "host"]))},
    "anti_affinity": lambda draw: {"anti_affinity": near(draw.choice(APPS), draw.choice(["zone", "host"]))},
    "spread": lambda draw: {"spread": spread(draw.choice(APPS), max_skew=draw.randint(1, 2))},
    "quotas": lambda draw: {"queue": draw.choice(["own", "shared"])},
    "gangs": lambda _: {},
}
"""By what is held, what a class states."""

QUOTAS = (
    flavor("all"),
    quota("cohort", {"all": {"cpu": 2, "memory": 5}}),
    quota("own", {"all": {"cpu": 3, "memory": 4}}),
    quota("shared", {"all": {"cpu": 2, "memory": 4}}, parent="cohort"),
)

ALONE = settings(max_examples=examples(25), deadline=None)


class Scene:
    """Three classes that state some rules, on five machines; ``bound`` tasks run, as (class, machine)."""

    def __init__(self, seed: int, rules: tuple[str, ...]) -> None:
        draw = Random(seed)
        self.gang = "gangs" in rules
        self.classes = [self._content(draw, name, rules) for name in APPS]
        self.machines = [self._machine(draw, number) for number in range(MACHINES)]

    def _content(self, draw: Random, name: str, rules: tuple[str, ...]) -> TaskClass:
        stated: dict[str, object] = {"labels": (("app", name),)}
        for rule in rules:
            if len(rules) == 1 or draw.random() < 0.4:
                stated.update(RULES[rule](draw))
        return task_class(**{"cpu": 1, **stated})  # type: ignore[arg-type]  # fields by name

    def _machine(self, draw: Random, number: int) -> Machine:
        tainted = draw.random() < 0.3
        return Machine(
            name=f"m{number}",
            allocatable={
                "cpu": draw.randint(1, 7),
                "memory": draw.randint(0, 7),
                "pods": 9,
                ATTACHMENT: draw.randint(0, 3),
            },
            labels={
                "kubernetes.io/hostname": f"m{number}",
                "host": f"m{number}",
                "zone": draw.choice("ab"),
                "disk": draw.choice(["ssd", "hdd"]),
            },
            taints=(Taint("dedicated", "batch", "NoSchedule"),) if tainted else (),
            attached=("v",) if draw.random() < 0.5 else (),
            storage=(StorageRoom("fast", draw.choice([1, 9])),),
        )

    def board(self, bound: tuple[tuple[int, int], ...] = ()) -> Board:
        """The board of a round of all tasks that wait."""
        events: list[Event] = [*QUOTAS, *(MachineUpserted(each) for each in self.machines)]
        job = "g" if self.gang else ""
        if job:
            events.append(JobDefined(Job(job, size=3 * WAITING, min_members=3)))
        for number, content in enumerate(self.classes):
            events.append(ClassDefined(number, content))
        for index, (cls, machine) in enumerate(bound):
            events.append(TasksBound(f"m{machine}", cls, (f"b{index}",), job=job))
        for number in range(len(self.classes)):
            uids = tuple(f"t{number}-{index}" for index in range(WAITING))
            events.append(TasksSubmitted(number, uids, job=job))
        opened = scheduler(events).open_round()
        assert opened.snapshot is not None
        problem = opened.snapshot.problem
        assert opened.snapshot.cls.tolist() == sorted(opened.snapshot.cls.tolist()), (
            "numbered like the classes"
        )
        return Board(problem)


def fill(board: Board, draw: Random, tasks: int) -> list[tuple[int, int]]:
    """Place some tasks, each where it fits; returns them."""
    found = []
    for _ in range(tasks):
        cls, machine = draw.randrange(board.problem.classes), draw.randrange(board.problem.machines)
        if board.fits(cls, machine):
            board.place(cls, machine)
            found.append((cls, machine))
    return found


def verdicts(board: Board) -> list[object]:
    every = np.arange(board.problem.machines)
    return [
        (
            board.find_fitting(cls).tolist(),
            board.count_fitting(cls, every).tolist(),
            board.residual.free.tolist(),
        )
        for cls in range(board.problem.classes)
    ]


def check_laws(seed: int, rules: tuple[str, ...]) -> None:
    draw, scene = Random(~seed), Scene(seed, rules)
    board = scene.board()
    placed = fill(board, draw, 4)
    for cls in range(board.problem.classes):
        singly = [board.fits(cls, machine) for machine in range(board.problem.machines)]
        assert board.find_fitting(cls).tolist() == singly
        assert (board.count_fitting(cls, np.arange(board.problem.machines)) > 0).tolist() == singly
    before, twin = verdicts(board), board.copy()
    more = fill(twin, draw, 3)
    assert verdicts(board) == before, "a copy is independent"
    for cls, machine in draw.sample(more, len(more)):
        twin.give_back(cls, machine)
    assert verdicts(twin) == before, "what is given back leaves no trace"
    other = scene.board()
    for cls, machine in reversed(placed):
        other.place(cls, machine)
    assert verdicts(other) == before, "the order does not matter"
    if "attachments" in rules:
        return  # what a task that runs need not ask for is known of volumes, which the tasks of a round do not change
    running = scene.board(tuple(placed))
    for cls in range(board.problem.classes):
        assert running.find_fitting(cls).tolist() == board.find_fitting(cls).tolist(), (
            "as if they had been there before"
        )


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_by_itself(rule: str):
    @ALONE
    @given(st.integers(0, 2**32))
    def hold(seed: int) -> None:
        check_laws(seed, (rule,))

    hold()


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_all_rules_together(seed: int, attached: bool):
    check_laws(seed, tuple(rule for rule in RULES if attached or rule != "attachments"))


def test_every_rule_that_is_registered_is_among_them():
    """By the fields in which classes state it; scores bind nobody."""
    stated = {field for state in RULES.values() for field in state(Random(1))}
    for rule in (rule for rule in DEFAULT if rule.reasons):
        assert stated & {*rule.reads_of_task}, rule.name
    for pod_rule in POD_RULES:
        assert stated & {*pod_rule.stated_in}, pod_rule.name
    for limit_rule in LIMIT_RULES:
        if type(limit_rule).keep_ledger is not LimitRule.keep_ledger:
            continue  # what a ledger has booked is not given back
        assert stated & {*limit_rule.for_tasks_with}, limit_rule.name

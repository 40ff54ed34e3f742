"""NodeResourcesFit: what is refused for a lack of resources, and which cures it proposes."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.changes import ChangedMachine, CureKind
from firmament.core.intake.events import apply_events
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import lack_of
from firmament.core.rules.node_resources import (
    NodeResources,
    find_refusals_by_resource,
    list_lacking_amounts,
)
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class


def cluster(*names: str) -> Cluster:
    made = Cluster()
    apply_events(made, [machine(name) for name in names], 0.0)
    return made


def requesting(**amounts: int) -> TaskClass:
    return TaskClass(requests=tuple(amounts.items()))


@pytest.mark.parametrize(
    ("content", "nowhere"),
    [
        (requesting(cpu=10), ()),
        (requesting(cpu=10, gpu=1, fpga=1), ("gpu",)),
        (requesting(gpu=0, fpga=1), ("fpga",)),
        (requesting(gpu=0), ()),
    ],
)
def test_a_resource_that_no_machine_offers_refuses_all(content: TaskClass, nowhere: tuple[str, ...]):
    made = cluster("a", "b")
    found = [(cause, rows.tolist()) for cause, rows in NodeResources().refusals(made.machines, content)]
    assert found == [(lack_of(name), [True, True]) for name in nowhere]
    assert NodeResources().key(made.machines, content) == nowhere


@pytest.mark.parametrize(("resources", "checks"), [(1, 0), (8, 0), (9, 3), (11, 9)])
def test_further_resources_take_three_looks_each(resources: int, checks: int):
    content = requesting(**{f"r{index}": 1 for index in range(resources)})
    assert NodeResources().count_checks(content) == checks
    assert NodeResources().count_common_checks([content, requesting(cpu=1)]).tolist() == [checks, 0]


def test_machines_with_too_little_left_are_refused_resource_by_resource():
    free = np.array([[5, 0, -1], [4, 1, 0], [9, 9, 0]])
    request = np.array([5, 1, 0])
    found = find_refusals_by_resource(free, request, ["cpu", "memory", "gpu"])
    assert [(cause, rows.tolist()) for cause, rows in found] == [
        (lack_of("cpu"), [False, True, False]),
        (lack_of("memory"), [True, False, False]),
    ]


def standing(content: TaskClass, **free: int) -> ChangedMachine:
    return ChangedMachine(content, Machine("m", {"cpu": 4, "memory": 8, "pods": 10}), free)


def test_lacking_amounts_are_sorted_and_count_the_task_itself():
    content = requesting(memory=8, cpu=4)
    assert list_lacking_amounts(standing(content, cpu=4, memory=8, pods=1)) == {}
    lacks = list_lacking_amounts(standing(content, cpu=3, memory=-2, pods=0))
    assert list(lacks.items()) == [("cpu", (4, 3)), ("memory", (8, 0)), ("pods", (1, 0))]
    assert list_lacking_amounts(standing(requesting(gpu=1), pods=1)) == {"gpu": (1, 0)}


def test_requests_are_lowered_to_what_is_free_or_the_machine_is_enlarged():
    content = requesting(memory=8, cpu=4)
    lowered, enlarged = NodeResources().cures(standing(content, cpu=3, memory=9, pods=1))
    assert [(each.kind, each.subject, each.before, each.after) for each in lowered.steps] == [
        (CureKind.LOWER_REQUEST, "cpu", 4, 3)
    ]
    assert lowered.change.content == requesting(memory=8, cpu=3)
    assert [(each.kind, each.subject, each.machine, each.before, each.after) for each in enlarged.steps] == [
        (CureKind.ENLARGE_MACHINE, "cpu", "m", 4, 5)
    ]
    assert enlarged.change.content == content
    assert enlarged.change.machine == Machine("m", {"cpu": 5, "memory": 8, "pods": 10})


def test_requests_are_not_lowered_to_nothing_and_overcommitment_is_made_good():
    (enlarged,) = NodeResources().cures(standing(requesting(cpu=4), cpu=-2, pods=0))
    assert [(each.subject, each.before, each.after) for each in enlarged.steps] == [
        ("cpu", 4, 10),
        ("pods", 10, 11),
    ]


def test_a_resource_that_the_machine_lacks_is_added():
    (enlarged,) = NodeResources().cures(standing(requesting(gpu=2), pods=5))
    assert [(each.subject, each.before, each.after) for each in enlarged.steps] == [("gpu", 0, 2)]


@pytest.mark.parametrize(
    ("content", "free"),
    [
        (requesting(cpu=1), {"cpu": 1, "pods": 1}),
        (TaskClass(requests=(("attachable-volumes-csi", 1),)), {"pods": 1}),
        (TaskClass(requests=(("attachable-volumes-csi", 1), ("cpu", 5))), {"pods": 1, "cpu": 2}),
    ],
    ids=["nothing lacks", "volumes", "volumes too"],
)
def test_no_cure_without_a_lack_or_for_counts_of_volumes(content: TaskClass, free: dict[str, int]):
    assert list(NodeResources().cures(standing(content, **free))) == []


def test_looks_of_ordinary_tasks():
    assert NodeResources().count_checks(task_class()) == 0

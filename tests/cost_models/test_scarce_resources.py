"""Machines with what few offer cost more for tasks that do not ask for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.checks.sample_inputs import standard_cases
from cost_models.conformance import CHECKS, check_declaration
from cost_models.firmament_policies.scarce_resources import ScarceResources, is_extended, scarce_columns
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, MachineRemoved, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import GIB, Clock, machine, placed, task_class, tasks, uids

GPU = "nvidia.com/gpu"
GPU_NODE: dict[str, Any] = {"cpu": 96_000, "memory": 768 * GIB, "extended": {GPU: 8}}
WANTS_GPU = TaskClass((("cpu", 100), (GPU, 1)))


def scheduler(*events, points=20):
    core = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model("cpu_mem", {})),
            scarce=WeightedModel(ScarceResources(points)) if points else None,
        ),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    core.apply([event for each in events for event in (each if isinstance(each, list) else [each])])
    return core


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        (GPU, True),
        ("example.com/device", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch-cpu", False),
        ("attachable.kubernetes.io/disk", False),
    ],
)
def test_which_resources_are_extended(name, extended):
    assert is_extended(name) is extended


@pytest.mark.parametrize(("offering", "scarce"), [(0, ()), (1, (1,)), (2, (1,)), (3, ()), (4, ())])
def test_scarce_is_what_at_most_half_of_the_machines_offer(offering, scarce):
    capacity = np.array([[1, int(row < offering)] for row in range(4)])
    assert scarce_columns(("cpu", GPU), capacity) == scarce


def test_three_plain_tasks_leave_the_gpu_machine_alone():
    core = scheduler(
        *(machine(f"m{index}") for index in range(3)),
        machine("gpu", **GPU_NODE),
        tasks(1, *uids("t", 3), content=task_class(500)),
    )
    assert "gpu" not in placed(core.run_round()).values()


def test_without_the_charge_they_do_not():
    core = scheduler(
        *(machine(f"m{index}") for index in range(3)),
        machine("gpu", **GPU_NODE),
        tasks(1, *uids("t", 3), content=task_class(500)),
        points=0,
    )
    assert set(placed(core.run_round()).values()) == {"gpu"}


def test_they_go_there_when_there_is_room_nowhere_else():
    core = scheduler(machine("m", pods=2), machine("gpu", **GPU_NODE), tasks(1, *uids("t", 3)))
    assert sorted(placed(core.run_round()).values()) == ["gpu", "m", "m"]


def test_who_asks_for_it_is_not_charged():
    core = scheduler(machine("a"), machine("gpu", **GPU_NODE), tasks(1, "wants", content=WANTS_GPU))
    costs = {each.machine: each.cost for each in core.explain("wants").machines}
    assert costs["gpu"] < costs["a"]


def test_who_asks_for_one_of_several_is_not_charged_for_the_others():
    both = machine("both", extended={GPU: 1, "example.com/nic": 1})
    core = scheduler(machine("a"), both, tasks(1, "wants", content=WANTS_GPU), tasks(2, "plain"))
    charged = {uid: core.explain(uid).machines[1].models[-1] for uid in ("wants", "plain")}
    assert [(charged[uid].cost, charged[uid].score) for uid in ("wants", "plain")] == [(0, 100), (20, 80)]


def test_what_was_kept_is_not_relied_on_once_it_is_no_longer_scarce():
    """Plain machines leave until most of those left have a GPU."""
    core = scheduler(
        *(machine(f"m{index:03}") for index in range(300)),
        *(machine(f"gpu{index:03}", extended={GPU: 1}) for index in range(20)),
        tasks(1, "first"),
    )
    assert placed(core.run_round())["first"].startswith("m")
    core.apply([MachineRemoved(f"m{index:03}") for index in range(281)])
    core.apply([ClassDefined(2, WANTS_GPU), TasksSubmitted(1, ("second",))])
    assert {each.models[-1].cost for each in core.explain("second").machines} == {0.0}
    core.run_round()
    core.apply([machine(f"m{index:03}") for index in range(281)])
    core.apply([TasksSubmitted(1, ("third",))])
    assert placed(core.run_round())["third"].startswith("m")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_a_model_as_any(check):
    model, device = ScarceResources(20), 4
    check_declaration(model)
    cases = [
        replace(case, machines=replace(case.machines, scarce=(device,)))
        for case in standard_cases()
        if len(case.machines.resources) > device
    ]
    check(model, cases)

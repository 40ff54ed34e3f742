"""Moves that lower costs in a cluster with several profiles: one by one only where models look at devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.fragmentation.rounds import DRIVER, describe_node, describe_pod
from benchmarks.fragmentation.trace import NodeType, PodType
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import TaskClass
from firmament.core.record_kinds import DEVICE_CLASS_RECORD
from firmament.core.rescheduling.cheaper_moves import plan_cheaper_moves
from firmament.core.rescheduling.plan_moves import MovePlan, PlanOptions, plan_moves
from firmament.core.rescheduling.rehearsal import move
from firmament.core.rescheduling.single_moves import plan_single_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

SIZES = (700, 500)
PLAIN = TaskClass((("cpu", 3000), ("memory", 3000)), profile="plain")
NODE = NodeType(16_000, 16_000, 1, "any", 1)
PODS = ("gpu0", "gpu1", "plain0", "plain1", "plain2")
PRICES = dict.fromkeys(PODS, 0.0)
SINGLE = {uid: 0.0 for uid in PODS if uid.startswith("gpu")}
TOGETHER = {uid: 0.0 for uid in PODS if uid.startswith("plain")}
OPTIONS = PlanOptions(1.0)


def make_core(*, plain_profile: bool = True) -> Scheduler:
    """Two machines with half a GPU given away, to pods of a profile that packs devices; on a third one three pods of
    another profile.
    """
    packing = WeightedModel(load_model("gpu_packing", {"drivers": [DRIVER]}), 1)
    plain = CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {})))
    core = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model("void", {})),
            overlays=(packing,),
            profiles={"plain": plain} if plain_profile else {},
        ),
        solver=OrToolsSolver(),
        clock=lambda: 0.0,
    )
    core.apply([RecordUpserted(DEVICE_CLASS_RECORD, "gpu", b"{}")])
    for number in range(3):
        core.apply(describe_node(f"n{number}", NODE))
    core.apply([ClassDefined(size, describe_pod(PodType(1000, 1000, 1, size, ()))) for size in SIZES])
    core.apply([ClassDefined(1, PLAIN)])
    for uid, size in (("large", 700), ("gpu0", 500), ("beside", 500), ("gpu1", 500)):
        core.apply([TasksSubmitted(size, (uid,))])
        deltas = core.run_round().deltas
        core.report([BindingReport(each.uid, each.machine, bound=True) for each in deltas])
    free = core.get_bound_task("large").event.machine
    core.let_devices_move()
    core.apply([TaskRemoved("large"), TaskRemoved("beside"), TasksBound(free, 1, tuple(TOGETHER))])
    return core


def plan(core: Scheduler, options: PlanOptions = OPTIONS) -> MovePlan:
    return plan_cheaper_moves(core, PRICES, options, OrToolsSolver())


def test_only_tasks_whose_models_look_at_devices_move_one_by_one():
    core = make_core()
    assert core.divide_by_devices([*PODS, "unknown"]) == (list(SINGLE), list(TOGETHER))
    found, core = plan(core), make_core()
    first = plan_moves(core, TOGETHER, OPTIONS, OrToolsSolver())
    assert {each.uid for each in first.moves} < TOGETHER.keys()
    for each in first.moves:
        move(core, each.uid, each.target)
    second = plan_single_moves(core, SINGLE, OPTIONS)
    assert {each.uid for each in second.moves} < SINGLE.keys()
    assert found.moves == first.moves + second.moves
    assert found.cost_before == pytest.approx(first.cost_before + second.cost_before)
    assert found.cost_after == pytest.approx(first.cost_after + second.cost_after)
    assert found.bound == first.bound > 0


def test_tasks_are_back_and_the_most_moves_hold_for_both_together():
    core = make_core()
    before = {uid: core.get_bound_task(uid).event.machine for uid in PODS}
    every = plan(core)
    assert {uid: core.get_bound_task(uid).event.machine for uid in PODS} == before
    kinds = [each.uid in SINGLE for each in every.moves]
    assert kinds == [False, False, True]
    for most in range(4):
        assert len(plan(core, replace(OPTIONS, most_moves=most)).moves) == most


def test_with_one_profile_all_tasks_move_in_the_same_way():
    core, again = make_core(plain_profile=False), make_core(plain_profile=False)
    assert plan(core) == plan_single_moves(again, PRICES, OPTIONS)
    core, again, solver = make_core(), make_core(), OrToolsSolver()
    assert plan_cheaper_moves(core, TOGETHER, OPTIONS, solver) == plan_moves(again, TOGETHER, OPTIONS, solver)
    assert plan_cheaper_moves(make_core(), {}, OPTIONS, solver).moves == ()

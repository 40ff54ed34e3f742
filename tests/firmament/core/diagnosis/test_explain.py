"""What a task is told of each machine: whether it may go there, why not, and what each model charges."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.interface import Assessment, JointRows, MachineColumns, ShapeBatch
from cost_models.registry import load_model
from firmament.configuration.sections import ScarceResourceSection
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement
from firmament.core.results import Explanation, MachineVerdict
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, scheduler, task_class, tasks
from tests.support.models import Stated, flat
from tests.support.rules import near

IN_ZONE = PreferredTerm(40, NodeSelectorTerm((Requirement("zone", "In", ("a",)),)))


def by_name(found: Explanation) -> dict[str, MachineVerdict]:
    return {each.machine: each for each in found.machines}


def costs(verdict: MachineVerdict) -> dict[str, tuple[float, float | None, float]]:
    """Per model: its figure, its score, and what it charges."""
    return {each.model: (each.raw, each.score, each.cost) for each in verdict.models}


def test_each_model_says_its_figure_its_score_and_what_it_charges_by_its_weight():
    core = scheduler(
        *(machine(name, labels={"zone": name}) for name in "abc"),
        tasks(1, "t", content=task_class(preferred=(IN_ZONE,))),
        policy="random",
        overlays=[WeightedModel(Stated(flat(10.0, 0.0, 30.4), name="ten"), 2)],
    )
    found = by_name(core.explain("t"))
    assert [costs(found[name])["ten"] for name in "abc"] == [(10, 90, 20), (0, 100, 0), (30.4, 70, 60)]
    assert [costs(found[name])["kubernetes"][1:] for name in "abc"] == [(100, 0), (0, 200), (0, 200)]
    for verdict in found.values():
        assert verdict.feasible
        assert verdict.reasons == ()
        assert [each.model for each in verdict.models] == ["random", "ten", "kubernetes"]
        assert verdict.cost == sum(each.cost for each in verdict.models)


def test_a_task_is_charged_for_a_machine_with_scarce_resources_that_it_does_not_request():
    """The charge is told with the task's own preferences, and only where there is one."""
    scarce = ScarceResourceSection(points=30).model()
    core = Scheduler(
        configuration=CoreConfiguration(WeightedModel(load_model("random", {})), scarce=scarce),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    core.apply([machine("plain"), machine("gpu", extended={"nvidia.com/gpu": 4}), *tasks(1, "t")])
    found = {name: costs(each)["kubernetes"] for name, each in by_name(core.explain("t")).items()}
    assert [found[name][2] for name in ("plain", "gpu")] == [0, 30]


def test_machines_are_refused_each_for_reasons_of_its_own():
    core = scheduler(
        machine("open"),
        machine("small", cpu=50),
        machine("closed", cordoned=True),
        machine("taken", labels={"zone": "z"}),
        tasks(1, "t", content=task_class(anti_affinity=near("x"))),
        ClassDefined(2, task_class(labels=(("app", "x"),))),
        TasksBound("taken", 2, ("other",)),
    )
    found = core.explain("t")
    assert {each.machine: each.reasons for each in found.machines} == {
        "open": (),
        "small": ("Insufficient cpu",),
        "closed": ("node(s) were unschedulable",),
        "taken": ("node(s) didn't match pod anti-affinity rules",),
    }
    assert [each.feasible for each in found.machines] == [True, False, False, False]
    assert (found.uid, found.state, found.machine) == ("t", "PENDING", "")


def two_together(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
    """One task more on the first two machines together; the third is refused by name."""
    rows = JointRows(
        np.array([0, 0, -1]),
        np.ones(shapes.count, dtype=np.int64),
        np.array([machines.running.sum() < 1]),
        "full",
    )
    feasible = np.tile(np.array([True, True, False]), (shapes.count, 1))
    return Assessment(
        raw=np.zeros((shapes.count, 1)), feasible=feasible, joint=(rows,), reason="node(s) were not liked"
    )


@pytest.mark.parametrize("running", [False, True])
def test_limits_of_a_model_count_as_its_refusals(running: bool):
    core = scheduler(
        *(machine(name) for name in "abc"),
        tasks(1, "t"),
        overlays=[WeightedModel(Stated(two_together, name="picky"))],
    )
    if running:
        core.apply([TasksBound("c", 1, ("other",))])
    found = by_name(core.explain("t"))
    full = ("full",) if running else ()
    assert [found[name].reasons for name in "abc"] == [full, full, ("node(s) were not liked",)]
    picky = [{each.model: each.feasible for each in found[name].models} for name in "abc"]
    assert [each["picky"] for each in picky] == [not running, not running, False]
    assert all(each["cpu_mem"] for each in picky)


def occupied(*, bound: bool) -> Scheduler:
    core = scheduler(machine("m", cpu=100), machine("n", cpu=99), ClassDefined(1, task_class(100)))
    core.apply([TasksBound("m", 1, ("t",)) if bound else TasksSubmitted(1, ("t",))])
    if not bound:
        core.run_round()
    return core


@pytest.mark.parametrize(("bound", "state"), [(True, "BOUND"), (False, "ASSUMED")])
def test_what_a_task_uses_itself_counts_as_free(bound: bool, state: str):
    core = occupied(bound=bound)
    core.apply([TasksSubmitted(1, ("waits",))])
    own, other = core.explain("t"), core.explain("waits")
    assert (own.state, own.machine) == (state, "m")
    assert {each.machine: each.feasible for each in own.machines} == {"m": True, "n": False}
    assert {each.machine: each.feasible for each in other.machines} == {"m": False, "n": False}


def test_a_task_does_not_keep_itself_away():
    alone = task_class(labels=(("app", "x"),), anti_affinity=near("x"))
    core = scheduler(machine("m", labels={"zone": "z"}), ClassDefined(1, alone), TasksBound("m", 1, ("t",)))
    core.apply([TasksSubmitted(1, ("waits",))])
    assert by_name(core.explain("t"))["m"].reasons == ()
    assert by_name(core.explain("waits"))["m"].reasons != ()

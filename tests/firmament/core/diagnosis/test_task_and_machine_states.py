"""Tasks and machines as lists, measured use, tasks on machines that refuse them, and what evictions would not help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.diagnosis.preemption_reasons import (
    IN_VAIN,
    NEVER,
    PreemptionReasons,
    sum_evictable,
)
from firmament.core.diagnosis.task_and_machine_states import (
    get_bound_task,
    get_measured,
    machine_states,
    state_name,
    task_states,
)
from firmament.core.events import ClassDefined, Event, MachineSampled, TasksBound, TasksSubmitted, TaskUses
from firmament.core.filters.root_causes import make_root_causes
from firmament.core.model import Taint
from firmament.core.queue.order import Importance
from firmament.core.reasons import Cause, Reason, lack_of
from firmament.core.results import TaskState
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.scheduler import Scheduler
from tests.support.core import GIB, START, machine, messages, placed, scheduler, task_class
from tests.support.rules import ints


def made(*events: Event) -> Scheduler:
    classes = [ClassDefined(1, task_class(100)), ClassDefined(2, task_class(200))]
    return scheduler(machine("n", cpu=1000), machine("m", cpu=500, extended={"gpu": 0}), *classes, *events)


# --- lists -----------------------------------------------------------------------------------------------------------


def test_tasks_are_listed_by_uid():
    core = made(
        TasksSubmitted(1, ("b",), names=("ns/b",), priority=4),
        TasksBound("m", 1, ("a",)),
        TasksBound("gone", 1, ("c",)),
    )
    cluster = core._cluster
    cluster.tasks.message[cluster.tasks.row_of["b"]] = "why"
    assert list(task_states(cluster, START)) == [
        TaskState("a", "a", "BOUND", "m", 0, ""),
        TaskState("b", "ns/b", "PENDING", "", 4, "why"),
        TaskState("c", "c", "BOUND", "gone", 0, ""),
    ]


def test_a_pending_task_backs_off_until_its_time():
    core = made(TasksSubmitted(1, ("a",)), TasksBound("m", 1, ("b",)))
    tasks = core._cluster.tasks
    tasks.not_before[:2] = 10.0
    assert [state_name(core._cluster, 0, now) for now in (9.9, 10.0)] == ["BACKOFF", "PENDING"]
    assert state_name(core._cluster, 1, 9.9) == "BOUND"


def test_machines_are_listed_by_name_with_what_they_offer_or_what_is_used():
    core = made(TasksBound("m", 2, ("a", "b", "c")))
    first, second = machine_states(core._cluster)
    assert (first.name, first.tasks, second.name, second.tasks) == ("m", 3, "n", 0)
    assert first.allocatable == {"cpu": 500, "memory": 16 * GIB, "pods": 110}
    assert first.free == {"cpu": -100, "memory": 16 * GIB, "pods": 107}
    assert second.free == second.allocatable


def test_a_bound_task_is_described_with_its_class():
    core = made(TasksBound("m", 2, ("a",), priority=7))
    found = get_bound_task(core._cluster, "a")
    assert found.content == task_class(200)
    assert (found.event.machine, found.event.uids, found.event.priority) == ("m", ("a",), 7)


def test_measured_use_is_that_of_the_last_reports():
    from cost_models.registry import load_model

    model = WeightedModel(load_model("load_threshold", {}))
    core = scheduler(machine("m"), machine("n"), ClassDefined(1, task_class(100)), overlays=[model])
    assert isinstance(core, Scheduler)
    uses = TaskUses(("a",), ("cpu",), (30.0,))
    core.apply([TasksBound("m", 1, ("a", "b")), MachineSampled("m", START, {"cpu": 50.0}, tasks=uses)])
    found = get_measured(core._cluster)
    column = found.resources.index("cpu")
    assert found.machines == ("m", "n")
    assert found.use[0, column] == 50.0
    assert np.isnan(found.use[1]).all()
    assert found.offered[:, column].tolist() == [4000.0, 4000.0]
    assert {uid: use[column] for uid, use in found.tasks.items()} == {"a": 30.0}


def test_tasks_on_machines_that_refuse_them_are_found():
    core = made(TasksBound("m", 1, ("a", "b")), TasksBound("n", 1, ("c",)))
    assert not list(core.iter_broken_rules())
    core.apply([machine("m", taints=[Taint("x", "y", "NoExecute")]), machine("n", cordoned=True)])
    assert [(each.uid, each.machine, each.reason) for each in core.iter_broken_rules()] == [
        ("a", "m", "node(s) had untolerated taint(s)"),
        ("b", "m", "node(s) had untolerated taint(s)"),
    ]
    invalid = ClassDefined(3, task_class(100, invalid="odd"))
    core.apply([invalid, TasksBound("m", 3, ("d",))])
    assert "d" not in {each.uid for each in core.iter_broken_rules()}
    core.apply([machine("n", taints=[Taint("x", "y", "NoExecute")]), TasksBound("gone", 1, ("e",))])
    assert {each.uid for each in core.iter_broken_rules()} == {"a", "b", "c"}


# --- preemption ------------------------------------------------------------------------------------------------------


def running() -> Scheduler:
    """Tasks of priorities 1 and 5 on m, one of 3 on n; one on m leaves anyway."""
    core = made(
        TasksBound("m", 1, ("low",), priority=1),
        TasksBound("m", 2, ("high",), priority=5),
        TasksBound("m", 1, ("leaving",), priority=9),
        TasksBound("n", 2, ("middle",), priority=3),
        TasksSubmitted(1, ("waits",), priority=0),
    )
    core._cluster.tasks.leaving[core._cluster.tasks.row_of["leaving"]] = True
    return core


@pytest.mark.parametrize(
    ("reach", "given", "victims"),
    [(1, [0, 100], [0, 0]), (2, [0, 200], [0, 1]), (4, [200, 200], [1, 1]), (6, [200, 400], [1, 2])],
)
def test_what_evictions_would_free(reach: int, given: list[int], victims: list[int]):
    cluster = running()._cluster
    importance = Importance.from_tasks(cluster.tasks)
    column = cluster.resources.names.index("cpu")
    found, number = sum_evictable(cluster, importance, ints(0, 1), reach)
    assert (found[:, column].tolist(), number.tolist()) == (given, victims)
    only, number = sum_evictable(cluster, importance, ints(1), reach)
    assert (only[:, column].tolist(), number.tolist()) == (given[1:], victims[1:])


def explained(core: Scheduler, cpu: int, priority: int, *refusals: MachineRefusal, **content: Any) -> str:
    core.apply([ClassDefined(9, task_class(cpu, **content)), TasksSubmitted(9, ("new",), priority=priority)])
    cluster = core._cluster
    row = cluster.tasks.row_of["new"]
    causes = make_root_causes(2, refusals)
    return PreemptionReasons(cluster).explain(cluster.classes.row(9), row, causes)


def lacking(*machines: bool) -> MachineRefusal:
    return MachineRefusal(lack_of("cpu"), np.array(machines))


HELPLESS = "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
NOBODY = "0/2 nodes are available: 2 No preemption victims found for incoming pod."


def test_why_evictions_do_not_help():
    assert explained(made(), 100, 9, lacking(True, True), invalid="odd") == ""
    assert explained(made(), 100, 9, lacking(True, True), never_preempts=True) == NEVER
    tainted = MachineRefusal(Cause(Reason.UNTOLERATED), np.array([True, True]))
    assert explained(running(), 100, 9, tainted) == IN_VAIN + HELPLESS
    assert explained(running(), 9999, 9, lacking(True, True)) == IN_VAIN + HELPLESS
    assert explained(running(), 100, 1, lacking(True, True)) == IN_VAIN + NOBODY
    assert explained(made(), 100, 9, lacking(True, True)) == IN_VAIN + NOBODY


def test_machines_are_counted_by_what_would_still_be_lacking():
    assert explained(running(), 500, 2, lacking(True, True)) == (
        f"{IN_VAIN}0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod."
    )
    assert explained(running(), 900, 2, lacking(True, True)).endswith(
        ": 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    ), "nobody on n would go, so what it lacks does not matter"
    ports = MachineRefusal(Cause(Reason.PORTS_TAKEN), np.array([False, True]))
    assert explained(running(), 100, 6, lacking(True, False), ports).endswith(
        "1 No preemption victims found for incoming pod, 1 node(s) didn't have free ports for the requested pod ports."
    )


def test_a_task_that_could_be_helped_is_told_in_a_round():
    core = scheduler(
        machine("a", cpu=1000, cordoned=True),
        machine("b", cpu=1000),
        ClassDefined(1, task_class(1000)),
        TasksBound("b", 1, ("same",), priority=5),
        TasksSubmitted(1, ("t",), priority=5),
    )
    result = core.run_round()
    assert placed(result) == {}
    assert messages(result, preemption=True)["t"].endswith(
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_the_default_configuration_reads_no_use():
    assert not CoreConfiguration().needs.load

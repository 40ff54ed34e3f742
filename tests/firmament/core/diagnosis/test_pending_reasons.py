"""What tasks that stay pending are told: by gang, by what came meanwhile, and by what the round itself has placed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core.configuration import RoundOptions, WeightedModel
from firmament.core.diagnosis.pending_reasons import MOST_KINDS
from firmament.core.diagnosis.preemption_reasons import explain_origins
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Taint
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.cost_models.network_aware.scenes import app_group, labels, pair_labels, records, topology
from tests.firmament.core.commit.test_eviction_check import with_bandwidth
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks, uids

APART = "node(s) had room for some of them, but not for all at once"


def close_after(core: Scheduler, *events: Event) -> RoundResult:
    opened = core.open_round()
    placement = opened.solve()
    core.apply(events)
    return core.close_round(opened, placement)


def gang(need: int, *machines: Event, name: str = "", cpu: int = 100) -> str:
    """What members of a gang of three are told, all of them the same."""
    job = JobDefined(Job("g", name=name, min_members=need))
    core = scheduler(
        *machines, ClassDefined(1, task_class(cpu)), job, TasksSubmitted(1, uids("t", 3), job="g")
    )
    told = messages(core.run_round())
    assert told.keys() == {*uids("t", 3)}
    assert len({*told.values()}) == 1
    return told["t-0"]


def test_members_of_a_gang_are_told_how_many_places_it_needs_at_once():
    full = machine("m", cpu=100), machine("n", cpu=199)
    assert gang(3, *full, name="train") == (
        f"gang train needs 3 places at once: 0/2 nodes are available: 2 {APART}."
    )
    assert gang(3, *full, machine("o", cordoned=True)).startswith(
        f"gang g needs 3 places at once: 0/3 nodes are available: 1 node(s) were unschedulable, 2 {APART}."
    )
    assert gang(3, machine("m", cpu=50)) == (
        "gang g needs 3 places at once: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_nothing_is_said_to_whom_an_event_has_opened_a_machine_and_the_next_round_tries_it():
    core = scheduler(machine("m", cpu=50), tasks(1, "small"), tasks(2, "large", content=task_class(9000)))
    assert messages(close_after(core, machine("new", cpu=500))) == {
        "large": "0/2 nodes are available: 2 Insufficient cpu."
    }
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "new"}


def test_an_invalid_task_is_told_so_whatever_has_come():
    core = scheduler(machine("m"), tasks(1, "t", content=task_class(100, invalid="odd")))
    assert messages(close_after(core, machine("new"))) == {"t": "odd"}


def test_only_tasks_that_the_round_has_seen_are_told_and_only_once():
    core = scheduler(machine("m", cpu=50), tasks(1, "t", "gone", "stays"))
    core.apply([TasksSubmitted(1, ("resubmitted",), priority=-1)])
    result = close_after(
        core,
        TaskRemoved("gone"),
        TasksSubmitted(1, ("new",)),
        TasksSubmitted(1, ("resubmitted",), priority=-2),
        TasksBound("m", 1, ("stays",)),
    )
    assert messages(result).keys() == {"t"}
    assert messages(core.run_round()).keys() == {"new", "resubmitted"}
    core.apply([machine("m", cpu=60)])
    assert messages(core.run_round()) == {}


def test_nobody_is_told_anything_where_reasons_are_not_asked_for():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"), options=RoundOptions(tells_why=False))
    result = core.run_round()
    assert (result.unscheduled, result.stats.pending) == ((), 1)


# --- what models and groups refuse -----------------------------------------------------------------------------------

BANDWIDTH = "node(s) had too little free network bandwidth"


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ((), f"0/4 nodes are available: 1 Insufficient cpu, 3 {BANDWIDTH}."),
        (("a",), f"0/3 nodes are available: 1 Insufficient cpu, 2 {BANDWIDTH}."),
        (("b", "c"), f"0/2 nodes are available: 1 Insufficient cpu, 1 {BANDWIDTH}."),
        (("small",), f"0/3 nodes are available: 3 {BANDWIDTH}."),
    ],
)
def test_refusals_of_models_are_of_the_machines_that_are_left(gone: tuple[str, ...], expected: str):
    content = task_class(100, labels=(("networkRequirement", "400"),))
    core = scheduler(
        *(with_bandwidth(name, 100) for name in "abc"),
        machine("small", cpu=1),
        tasks(1, "t", content=content),
        policy="net",
    )
    assert messages(close_after(core, *map(MachineRemoved, gone))) == {"t": expected}


def test_what_the_round_has_placed_counts_against_the_limits_of_models():
    content = task_class(100, labels=(("networkRequirement", "400"),))
    core = scheduler(with_bandwidth("a", 700), tasks(1, "t", "u", content=content), policy="net")
    result = core.run_round()
    assert placed(result) == {"t": "a"}
    assert messages(result)["u"].startswith(f"0/1 nodes are available: 1 {BANDWIDTH}.")


def test_what_the_round_has_placed_counts_against_the_limits_of_pairs():
    core = scheduler(
        machine("m", cpu=100, labels=labels("r", "z1")),
        machine("n", cpu=300, labels=labels("r", "z2")),
        records(topology({}, {"z1": {"z2": 9}, "z2": {"z1": 9}}), app_group(["a", "b"], [("a", "b", 4, 0)])),
        tasks(1, "a", content=task_class(100, labels=pair_labels("a"), machine="m"), priority=5),
        tasks(2, "b", content=task_class(100, labels=pair_labels("b"))),
        overlays=[WeightedModel(load_model("network_overhead", {"strictMaxNetworkCost": True}))],
    )
    result = core.run_round()
    assert placed(result) == {"a": "m"}
    assert messages(result)["b"].startswith(
        "0/2 nodes are available: 1 Insufficient cpu, "
        "1 node(s) exceeded the maxNetworkCost of a workload dependency."
    )


def test_each_class_is_told_its_own_refusals():
    core = scheduler(
        machine("a", taints=[Taint("x", "y", "NoSchedule")]),
        machine("b", cpu=10),
        tasks(1, "plain"),
        tasks(2, "selects", content=task_class(node_selector=(("zone", "z"),))),
        tasks(3, "also", content=task_class(50)),
    )
    plain = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    assert messages(core.run_round()) == {
        "plain": plain,
        "selects": "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s).",
        "also": plain,
    }


def test_a_machine_that_is_reserved_for_another_is_refused_as_such():
    options = RoundOptions(reserve_after_rounds=1, reserve_after=0.0)
    core = scheduler(
        machine("m", cpu=1000),
        tasks(1, "large", content=task_class(1000)),
        tasks(2, content=task_class(500, runs_to_completion=True)),
        options=options,
    )
    core.apply([TasksBound("m", 2, ("running",)), TasksSubmitted(2, ("first",))])
    assert placed(core.run_round()) == {"first": "m"}
    core.apply([TaskRemoved("first"), TasksSubmitted(2, ("second",))])
    assert messages(core.run_round()) == {
        "second": "0/1 nodes are available: 1 node(s) were reserved for a pod that has waited longer."
    }


def test_gangs_are_told_however_many_others_wait():
    events: list[Event] = [machine("m"), JobDefined(Job("g", min_members=2))]
    for number in range(1, MOST_KINDS + 3):
        events += tasks(number, f"t-{number}", content=task_class(10_000 + number), priority=9)
    events += [ClassDefined(999, task_class(20_000)), TasksSubmitted(999, ("g-0", "g-1"), job="g")]
    told = messages(scheduler(events).run_round())
    assert {"g-0", "g-1"} < told.keys()
    assert len(told) == MOST_KINDS + 2


def test_a_group_with_rules_is_told_what_it_lacks_and_which_machines_are_outside():
    """Also if an event has opened a machine, as that may not be what the group lacks."""
    tree = {"name": "tree", "levels": ["rack", "node"], "tree": {"r": {"m": {}}, "s": {"n": {}}}}
    rules = {"group": "g", "constraints": {"rack": {"partitions": 1}}}
    core = scheduler(
        *(machine(name, cpu=100) for name in ("m", "n", "outside")),
        RecordUpserted(TREE_RECORD, "tree", json.dumps(tree).encode()),
        RecordUpserted(GROUP_RECORD, "g", json.dumps(rules).encode()),
        ClassDefined(1, task_class(100)),
        JobDefined(Job("g", min_members=2, size=2)),
        TasksSubmitted(1, ("t", "u"), job="g"),
        overlays=[WeightedModel(load_model("topology", {}))],
    )
    lack = (
        "group g needs 2 places at once: level rack: 1 partition wanted, 2 units can hold their share; "
        "at most 1 of 2 pods fits by this rule. "
    )
    outside = "1 node(s) are not in the cluster topology."
    assert messages(close_after(core, machine("new"))) == dict.fromkeys(
        "tu", f"{lack}0/4 nodes are available: {outside}"
    )


# --- origins of evictions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        ({}, ""),
        ({1: {0: [0]}}, ""),
        ({0: {}}, ""),
        ({0: {0: [5]}}, ""),
        ({0: {0: [3]}}, "It may not evict d now"),
        ({0: {0: [3, 0], 1: [0, 2]}}, "It may not evict a, c, d now"),
        ({0: {0: [3, 1, 0], 1: [4, 2]}}, "It may not evict a, b, c and 2 more now"),
        ({0: {0: [3, 1, 0, 2, 5]}}, "It may not evict a, b, c and 1 more now"),
    ],
)
def test_a_task_is_told_which_running_ones_began_the_evictions_that_cost_it_its_place(
    origins: dict[int, dict[int, list[int]]], expected: str
):
    core = scheduler(machine("m"), ClassDefined(1, task_class(1)), TasksBound("m", 1, tuple("abcde")))
    core.apply([TasksSubmitted(1, ("waits",))])
    cluster = core._cluster
    assert [cluster.tasks.name[row] for row in range(6)] == [*"abcde", "waits"]
    preemption: Any = type("Known", (), {})()
    preemption.row = np.arange(6)
    preemption.origins = {
        index: {place: np.array(rows) for place, rows in each.items()} for index, each in origins.items()
    }
    snapshot: Any = type("Seen", (), {"preemption": preemption})()
    found = explain_origins(cluster, snapshot, 0)
    cause = ": it lost its place through evictions that began with them."
    assert found == (f" {expected}{cause}" if expected else "")
    snapshot.preemption = None
    assert explain_origins(cluster, snapshot, 0) == ""

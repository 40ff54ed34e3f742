"""Which parts a round's problem has: spread groups, groups over trees, rooms after evictions, and members in order."""

from __future__ import annotations

from typing import Any

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.constraints.default_spread import NO_SPREAD
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    RecordRemoved,
    RecordUpserted,
    TasksSubmitted,
)
from firmament.core.flow.problem import PlacementProblem
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.tree_solver.groups import NO_GROUPS
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, task_class, tasks


def snapshot(*events: Event | list[Event]) -> tuple[Snapshot, Scheduler]:
    """The snapshot of a round with kube-scheduler's default spread."""
    configuration = CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {})), spread=SYSTEM_DEFAULTS)
    made = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock())
    batch: list[Event] = []
    for event in events:
        batch += event if isinstance(event, list) else [event]
    made.apply(batch)
    opened = made.open_round()
    assert opened.snapshot is not None
    return opened.snapshot, made


def posed(*events: Event | list[Event]) -> PlacementProblem:
    return snapshot(machine("m", labels=RACK), machine("n", labels=RACK), *events)[0].problem


RACK = {"kubernetes.io/hostname": "h", "topology.kubernetes.io/zone": "z", "rack": "r"}


def spread(number: int, *uids: str, group: str, cpu: int = 100) -> list[Event]:
    return [ClassDefined(number, task_class(cpu)), TasksSubmitted(number, uids, spread_group=group)]


class TestSpread:
    def test_groups_are_spread_also_beside_tasks_of_no_group(self):
        made = posed(spread(1, "a", "b", group="g"), spread(2, "c", group="", cpu=200))
        assert made.spread is not NO_SPREAD
        assert sorted(made.spread.group.tolist()) == [-1, 0]

    def test_without_groups_nothing_is_spread(self):
        assert posed(spread(1, "a", "b", group="")).spread is NO_SPREAD


def tree(number: int, name: str, *uids: str, grouped: bool = True) -> list[Event]:
    """A gang, whose tasks go to one rack if it is grouped."""
    groups: tuple[Any, ...] = (JobGroup("all", least=len(uids), within=("rack",)),) if grouped else ()
    content = TaskClass((("cpu", 100),), group="all" if grouped else "")
    job = Job(name, min_members=len(uids), groups=groups)
    return [
        ClassDefined(number, content),
        JobDefined(job),
        TasksSubmitted(number, uids, job=name, names=uids),
    ]


class TestGroups:
    def test_gangs_with_groups_have_a_topology(self):
        made = posed(tree(1, "g", "t-0", "t-1"))
        assert made.topology is not NO_GROUPS
        assert made.gang.tolist() == [0]
        assert made.gang_need.tolist() == [2]

    def test_plain_gangs_and_tasks_have_none(self):
        plain = posed(tree(1, "g", "t-0", "t-1", grouped=False))
        assert plain.topology is NO_GROUPS
        assert (plain.gang.tolist(), plain.gang_need.tolist()) == ([0], [2])
        single = posed(tasks(1, "t"))
        assert single.topology is NO_GROUPS
        assert (single.gang.tolist(), single.gang_need.tolist()) == ([], [])

    def test_tasks_of_a_group_are_in_the_order_of_their_names_and_others_in_that_of_arrival(self):
        names = ("t-10", "t-9", "t-1")
        for grouped, expected in ((True, ["t-1", "t-9", "t-10"]), (False, ["t-10", "t-9", "t-1"])):
            made, core = snapshot(machine("m", labels=RACK), tree(1, "g", *names, grouped=grouped))
            (members,) = made.members
            assert [core._cluster.tasks.uid[row] for row in members.tolist()] == expected


def records_of(model: str) -> Snapshot:
    """The snapshot of a round in which a model is asked that reads records."""
    overlay = WeightedModel(load_model(model, {}))
    configuration = CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {})), overlays=(overlay,))
    made = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock())
    made.apply([machine("m"), *tasks(1, "t")])
    for kind in overlay.model.needs.records:
        made.apply([RecordUpserted(kind, "m", b"{}"), RecordUpserted(kind, "other", b"{}")])
        made.apply([RecordRemoved(kind, "other")])
    found = made.open_round().snapshot
    assert found is not None
    return found


class TestRecords:
    """Changes of records during the round put decisions in doubt; those about single machines are looked at apart."""

    def test_records_about_the_whole_cluster_are_counted(self):
        found = records_of("network_overhead")
        assert set(found.changes) == set(load_model("network_overhead", {}).needs.records)
        assert all(count > 0 for count in found.changes.values())
        assert found.removals == {}

    def test_of_records_about_single_machines_only_removals_are(self):
        found = records_of("numa_fit")
        assert found.changes == {}
        assert {kind: count > 0 for kind, count in found.removals.items()} == {"NodeResourceTopology": True}

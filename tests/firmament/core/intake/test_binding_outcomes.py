"""What reports on bindings change: states, promises of room, marks, and evictions that are let off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.binding_reports import BindingOutcomes
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.record_kinds import NOMINATION_RECORD
from firmament.core.rules.gangs.rebinding import Rebinding
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase
from tests.support.core import machine, task_class

NOW = 50.0


class Scene:
    """Machines m and n; t is assumed on m, v is bound there, and w waits as unschedulable with the priority 5."""

    def __init__(self, *events: Event, job: str = "") -> None:
        self.cluster = Cluster()
        given: list[Event] = [
            machine("m"),
            machine("n"),
            ClassDefined(1, task_class(100)),
            JobDefined(Job("g", min_members=2)),
            TasksSubmitted(1, ("t",), job=job),
            TasksSubmitted(1, ("w",), priority=5),
            TasksBound("m", 1, ("v",)),
        ]
        apply_events(self.cluster, [*given, *events], 0.0)
        self.evictions, self.rebinding = PendingEvictions(), Rebinding()
        self.tasks, self.row = self.cluster.tasks, self.cluster.tasks.row_of
        self.tasks.unschedulable[self.row["w"]] = True
        transitions.assume(self.cluster, np.array([self.row["t"]]), np.array([0]))
        self.cluster.dirty.clear()
        self.cluster.jobs.changed.clear()
        options = RoundOptions(first_backoff=3.0, last_backoff=7.0)
        self.outcomes = BindingOutcomes(self.cluster, self.evictions, self.rebinding, options, lambda: NOW)

    def report(self, uid: str = "t", at: str = "m", *, bound: bool, retry: bool = True) -> None:
        self.outcomes.apply([BindingReport(uid, at, bound=bound, retry=retry)])

    def state(self, uid: str = "t") -> TaskPhase:
        return TaskPhase(int(self.tasks.state[self.row[uid]]))

    @property
    def marked(self) -> list[str]:
        return [self.cluster.machines.names[row] for row in sorted(self.cluster.dirty.machines)]

    @property
    def promised(self) -> dict[str, str]:
        return dict(self.cluster.promises.machine_of)


class TestAccepted:
    @pytest.mark.parametrize(("priority", "marked"), [(4, ["m"]), (5, []), (6, [])])
    def test_who_waits_may_evict_a_less_important_task_from_now_on(self, priority: int, marked: list[str]):
        scene = Scene()
        scene.tasks.priority[scene.row["t"]] = priority
        scene.report(bound=True)
        assert scene.state() is TaskPhase.BOUND
        assert scene.marked == marked

    def test_only_those_count_that_wait_as_unschedulable(self):
        scene = Scene()
        scene.tasks.unschedulable[scene.row["w"]] = False
        scene.report(bound=True)
        assert scene.marked == []

    def test_failures_are_forgotten(self):
        scene = Scene()
        scene.tasks.failures[scene.row["t"]] = 3
        scene.report(bound=True)
        assert scene.tasks.failures[scene.row["t"]] == 0


class TestRefused:
    def test_it_waits_and_backs_off(self):
        scene = Scene()
        scene.report(bound=False)
        row = scene.row["t"]
        assert scene.state() is TaskPhase.PENDING
        assert (scene.tasks.not_before[row], scene.tasks.failures[row]) == (NOW + 3.0, 1)
        assert not scene.tasks.unschedulable[row]
        assert (scene.promised, scene.marked) == ({}, ["m"])

    def test_for_good_it_is_unschedulable(self):
        scene = Scene()
        scene.report(bound=False, retry=False)
        row = scene.row["t"]
        assert scene.tasks.unschedulable[row]
        assert scene.tasks.refused[row]

    @pytest.mark.parametrize(("retry", "kept"), [(True, {"t": "m"}), (False, {})])
    def test_room_for_which_others_were_evicted_stays_promised(self, retry: bool, kept: dict[str, str]):
        scene = Scene()
        scene.tasks.owed[scene.row["t"]] = True
        scene.report(bound=False, retry=retry)
        assert scene.promised == kept

    @pytest.mark.parametrize(("name", "kept"), [("t", {"t": "m"}), ("other", {})])
    def test_so_does_room_that_a_record_promises(self, name: str, kept: dict[str, str]):
        scene = Scene(RecordUpserted(NOMINATION_RECORD, name, b"m"))
        scene.report(bound=False)
        assert scene.promised == kept

    def test_a_member_of_a_gang_keeps_its_place_and_its_gang_is_looked_at(self):
        scene = Scene(job="g")
        scene.report(bound=False)
        assert scene.state() is TaskPhase.ASSUMED
        assert scene.rebinding.arrival_numbers == {"t": int(scene.tasks.arrival_number[scene.row["t"]])}
        assert scene.cluster.jobs.changed == {"g"}
        assert scene.tasks.not_before[scene.row["t"]] == NOW + 3.0

    def test_not_if_it_may_not_be_retried_or_still_waits_for_victims(self):
        final = Scene(job="g")
        final.report(bound=False, retry=False)
        assert final.state() is TaskPhase.PENDING
        waits = Scene(job="g")
        waits.evictions.record_victims(waits.cluster, [waits.row["v"]])
        waits.evictions.record_waiting(waits.cluster, ("v",), waits.row["t"])
        waits.report(bound=False)
        assert waits.state() is TaskPhase.PENDING
        assert not waits.rebinding.arrival_numbers


class TestLetOff:
    def scene(self) -> Scene:
        """t waits for v to leave."""
        scene = Scene()
        scene.evictions.record_victims(scene.cluster, [scene.row["v"]])
        scene.evictions.record_waiting(scene.cluster, ("v",), scene.row["t"])
        assert scene.tasks.leaving[scene.row["v"]]
        return scene

    def test_who_was_not_evicted_stays_and_who_counted_on_it_waits_with_its_room_promised(self):
        scene = self.scene()
        scene.report("v", bound=False)
        assert not scene.tasks.leaving[scene.row["v"]]
        assert scene.state("v") is TaskPhase.BOUND
        assert scene.state("t") is TaskPhase.PENDING
        assert scene.tasks.not_before[scene.row["t"]] == NOW + 3.0
        assert scene.promised == {"t": "m"}

    def test_a_task_that_was_to_leave_and_is_reported_as_bound_still_has_to(self):
        scene = self.scene()
        scene.report("v", bound=True)
        assert scene.tasks.leaving[scene.row["v"]]
        assert scene.state("t") is TaskPhase.ASSUMED

    def test_one_that_stays_anyway_is_not_concerned(self):
        scene = Scene()
        scene.report("v", bound=False)
        assert scene.state("v") is TaskPhase.BOUND
        assert (scene.promised, scene.marked) == ({}, [])


@pytest.mark.parametrize(("uid", "at"), [("nobody", "m"), ("t", "n"), ("t", ""), ("w", "m"), ("v", "n")])
@pytest.mark.parametrize("bound", [True, False])
def test_reports_beside_the_point_change_nothing(uid: str, at: str, bound: bool):
    scene = Scene()
    version = scene.cluster.version
    scene.report(uid, at, bound=bound)
    assert [scene.state(each) for each in ("t", "w", "v")] == [
        TaskPhase.ASSUMED,
        TaskPhase.PENDING,
        TaskPhase.BOUND,
    ]
    assert (scene.cluster.version, scene.marked, scene.promised) == (version, [], {})


def test_each_report_of_a_batch_counts():
    scene = Scene()
    reports = [BindingReport("nobody", "m", bound=True), BindingReport("t", "m", bound=True)]
    scene.outcomes.apply([*reports, replace(reports[1], bound=False)])
    assert scene.state() is TaskPhase.BOUND

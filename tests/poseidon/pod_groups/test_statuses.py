"""What is written to PodGroups, and how often."""

from __future__ import annotations

import pytest

from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.pod_groups.group_names import POD_GROUP, Progress
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.statuses import PodGroupStatuses, phase_of
from tests.poseidon.pod_groups.objects import pod, pod_group


class Scene:
    def __init__(self, members, status=None):
        self.groups = Groups()
        self.now = 1_000_000_000.0
        self.statuses = PodGroupStatuses(self.groups, lambda: self.now)
        self.groups.put_source(POD_GROUP, "1", pod_group("train", members, status=status))

    def put(self, name, phase="Pending", node=""):
        self.groups.put_pod(f"pod-{name}", pod(name, group="train", owner="job", phase=phase, node=node))
        return self.written()

    def written(self):
        return [each.status for each in self.statuses.take_writes(self.groups.take_moved())]

    def late(self):
        return [each.status for each in self.statuses.take_late()]


def test_a_phase_is_written_once_and_counts_later():
    scene = Scene(2)
    [status] = scene.put("a")
    assert (status.phase, status.schedule_start_time, status.occupied_by) == ("Pending", None, "default/job")
    assert scene.put("a") == []
    [status] = scene.put("b")
    assert (status.phase, status.schedule_start_time) == ("Scheduling", "2001-09-09T01:46:40Z")
    assert scene.put("a", node="n1") == []
    assert [each.scheduled for each in scene.late()] == [1]
    assert scene.late() == []
    [status] = scene.put("b", node="n1")
    assert (status.phase, status.scheduled) == ("Scheduled", 2)
    assert scene.put("a", "Running", "n1") == []
    [status] = scene.put("b", "Running", "n1")
    assert (status.phase, status.running, status.scheduled) == ("Running", 2, 2)
    assert scene.late() == []
    scene.put("a", "Succeeded", "n1")
    [status] = scene.put("b", "Succeeded", "n1")
    assert (status.phase, status.succeeded) == ("Finished", 2)


def test_when_a_group_began_and_whose_it_is_stay_as_they_were_said_first():
    scene = Scene(1, PodGroupStatus(phase="Pending", occupied_by="default/somebody"))
    [status] = scene.put("a", node="n1")
    assert (status.schedule_start_time, status.occupied_by) == ("2001-09-09T01:46:40Z", "default/somebody")
    scene.now += 60.0
    [status] = scene.put("a", "Running", "n1")
    assert (status.schedule_start_time, status.occupied_by) == ("2001-09-09T01:46:40Z", "default/somebody")


def test_counts_that_were_written_late_are_not_written_again():
    scene = Scene(3)
    for name in "abc":
        scene.put(name)
    assert scene.put("a", node="n1") == []
    assert [each.scheduled for each in scene.late()] == [1]
    assert scene.put("a", "Pending", "n1") == []
    scene.put("b", node="n1")
    scene.put("b")
    assert scene.late() == [], "it is as it was written"


def test_a_failed_pod_that_is_replaced_lets_the_group_run_again():
    scene = Scene(1)
    scene.put("a", "Running", "n1")
    [status] = scene.put("a", "Failed", "n1")
    assert (status.phase, status.failed) == ("Failed", 1)
    [status] = scene.put("b", "Running", "n1")
    assert (status.phase, status.failed, status.running) == ("Running", 1, 1)


def test_what_is_written_already_is_not_written_again():
    before = PodGroupStatus(phase="Running", occupied_by="default/job", scheduled=1, running=1)
    scene = Scene(1, before)
    scene.put("a", "Running", "n1")
    [late] = scene.late()
    assert late.schedule_start_time is not None
    again = Scene(1, late)
    assert again.put("a", "Running", "n1") == again.late() == []


def test_a_group_that_is_gone_is_not_written_to():
    scene = Scene(2)
    scene.put("a")
    scene.put("b")
    scene.put("a", node="n1")
    scene.groups.remove_source("1")
    scene.statuses.forget("1")
    assert scene.written() == scene.late() == []


W, P, R, S, F = Progress.WAITING, Progress.PLACED, Progress.RUNNING, Progress.SUCCEEDED, Progress.FAILED


@pytest.mark.parametrize(
    ("counts", "needed", "phase"),
    [
        ({}, 1, "Pending"),
        ({W: 3}, 0, "Pending"),
        ({R: 3}, 0, "Pending"),
        ({W: 1}, 2, "Pending"),
        ({W: 1, P: 1}, 3, "Pending"),
        ({W: 2}, 2, "Scheduling"),
        ({W: 1, P: 1}, 2, "Scheduling"),
        ({P: 2}, 2, "Scheduled"),
        ({P: 1, R: 1}, 2, "Scheduled"),
        ({P: 1, S: 1}, 2, "Scheduled"),
        ({R: 2}, 2, "Running"),
        ({R: 1, S: 1}, 2, "Running"),
        ({W: 1, R: 2}, 2, "Running"),
        ({S: 2}, 2, "Finished"),
        ({S: 2, F: 1}, 2, "Finished"),
        ({F: 1, R: 1}, 2, "Failed"),
        ({F: 2}, 2, "Failed"),
        ({F: 1, S: 1}, 2, "Failed"),
        ({F: 1, W: 1}, 2, "Scheduling"),
        ({F: 1, W: 1}, 3, "Pending"),
        ({F: 1, R: 2}, 2, "Running"),
    ],
)
def test_the_phase_of_a_group(counts, needed, phase):
    assert phase_of(counts, needed) == phase


def test_pods_that_have_ended_were_scheduled():
    scene = Scene(5)
    for name, state in (("a", "Succeeded"), ("b", "Failed"), ("c", "Running"), ("d", "Pending")):
        scene.put(name, state, "n1")
    [status] = scene.put("e")
    found = status.scheduled, status.running, status.succeeded, status.failed
    assert found == (4, 1, 1, 1)

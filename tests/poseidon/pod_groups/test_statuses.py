"""What is written to PodGroups, and how often."""

from __future__ import annotations

from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.membership import POD_GROUP
from poseidon.pod_groups.statuses import PodGroupStatuses
from tests.poseidon.pod_groups.objects import pod, pod_group


class Scene:
    def __init__(self, members, status=None):
        self.groups = Groups()
        self.statuses = PodGroupStatuses(self.groups, lambda: 1_000_000_000.0)
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

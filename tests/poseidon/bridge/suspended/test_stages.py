"""The stages of objects in queues at their boundaries: when places are held, given back, and asked for anew."""

from __future__ import annotations

import pytest

from poseidon.bridge.suspended.placeholders import AdmissionStage, WorkloadAdmission
from poseidon.bridge.suspended.resumptions import HELD_SECONDS
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.write.suspension_writer import SuspensionEnd
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job
from tests.poseidon.bridge.suspended.test_resumptions import PREEMPTING


def resumed(pods: int = 2, **more) -> JobCluster:
    """A cluster with a Job that has been resumed, and whose pods have not come."""
    cluster = JobCluster(creates_pods=False, **more)
    cluster.create(job("a", pods))
    cluster.settle()
    assert not cluster.is_suspended("a")
    return cluster


def expire(cluster: JobCluster) -> None:
    cluster.state.expire()
    cluster.act()


def held(cluster: JobCluster) -> int:
    return sum(bool(record.place) for record in cluster.state.tasks)


def entry_of(cluster: JobCluster) -> WorkloadAdmission:
    """How far the only Job of a cluster has come."""
    assert cluster.state.resumptions is not None
    [entry] = cluster.state.resumptions._entries.values()
    return entry


def begun(cluster: JobCluster) -> float:
    """When the Job of a cluster came to its stage."""
    return entry_of(cluster).since


@pytest.mark.parametrize(("late", "suspended"), [(-0.5, False), (0.0, True)])
def test_places_are_held_for_pods_for_so_long(late, suspended):
    cluster = resumed()
    cluster.now = begun(cluster) + HELD_SECONDS + late
    expire(cluster)
    assert cluster.is_suspended("a") is suspended
    assert (held(cluster) == 2) is not suspended
    said = [each.message for each in cluster.events if each.reason is EventReason.FAILED_SCHEDULING]
    assert said == (["suspended: none of its pods came within 300 s"] if suspended else [])


def test_pauses_double_up_to_an_hour_until_pods_come():
    cluster = resumed()
    pauses = []
    for _ in range(8):
        cluster.now = begun(cluster) + HELD_SECONDS
        expire(cluster)
        assert cluster.is_suspended("a")
        ended = cluster.now
        cluster.show_all()
        pause = next(
            each for each in (60, 120, 240, 480, 960, 1920, 3600, 7200) if _resumes(cluster, ended + each)
        )
        pauses.append(pause)
    assert pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def _resumes(cluster: JobCluster, at: float) -> bool:
    """Whether a Job is not resumed right before a time, but then."""
    cluster.now = at - 0.5
    expire(cluster)
    cluster.round()
    assert cluster.is_suspended("a"), "too early"
    cluster.now = at
    expire(cluster)
    cluster.round()
    cluster.show_all()
    return not cluster.is_suspended("a")


def test_one_pod_that_has_come_keeps_the_job_running_when_places_are_given_back():
    cluster = resumed(3)
    cluster.creates_pods = True
    cluster.jobs["a"]["spec"]["parallelism"] = 1
    cluster.control()
    cluster.act()
    cluster.now = begun(cluster) + HELD_SECONDS
    expire(cluster)
    assert not cluster.is_suspended("a")
    assert len(cluster.state.tasks) == 1
    assert not [each for each in cluster.events if each.reason is EventReason.FAILED_SCHEDULING]


@pytest.mark.parametrize(("late", "given_up"), [(9.5, False), (10.0, True)])
def test_a_failed_write_is_given_up_once_the_watch_has_been_silent(late, given_up):
    cluster = JobCluster(holds_writes=True)
    cluster.create(job("a", 2))
    cluster.round()
    [write] = cluster.unanswered
    cluster.unanswered.clear()
    asked = cluster.now
    cluster.state.suspension_written(SuspensionEnd(write, "has changed", overtaken=True))
    cluster.now = asked + late
    cluster.state.expire()
    stage = entry_of(cluster).stage
    assert stage is (AdmissionStage.WAITING if given_up else AdmissionStage.RESUMING)
    assert (held(cluster) == 0) is given_up


def test_an_answer_about_an_older_write_changes_nothing():
    cluster = JobCluster(holds_writes=True)
    cluster.create(job("a", 2))
    cluster.round()
    [write] = cluster.unanswered
    cluster.change("a", parallelism=1, completions=1)
    cluster.unanswered.clear()
    cluster.state.suspension_written(SuspensionEnd(write))
    cluster.act()
    assert len(cluster.state.tasks) == 1
    cluster.holds_writes = False
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert len(cluster.places("a")) == 1


def test_a_write_that_fails_for_good_lets_its_job_wait_again():
    cluster = JobCluster(holds_writes=True)
    cluster.create(job("a", 2))
    cluster.round()
    [write] = cluster.unanswered
    cluster.unanswered.clear()
    cluster.state.suspension_written(SuspensionEnd(write, "forbidden"))
    cluster.act()
    assert cluster.is_suspended("a")
    cluster.now += 400
    cluster.state.expire()
    cluster.round()
    assert [each.suspended for each in cluster.unanswered] == [False]


def test_a_job_with_pods_that_its_controller_still_counts_gets_no_places():
    cluster = JobCluster()
    made = job("a", 2)
    made["status"] = {"active": 1}
    cluster.create(made)
    cluster.settle()
    assert cluster.is_suspended("a")
    assert len(cluster.state.tasks) == 0
    made["status"] = {"active": 0}
    cluster.show_all()
    cluster.settle()
    assert not cluster.is_suspended("a")


def test_placeholders_beyond_what_a_resumed_job_wants_now_are_dropped():
    cluster = resumed(4)
    cluster.change("a", parallelism=1, completions=1)
    cluster.act()
    assert held(cluster) == 1
    cluster.change("a", parallelism=1, completions=1)
    cluster.act()
    assert held(cluster) == 1


def test_when_a_job_was_created_is_known_as_long_as_it_is():
    cluster = JobCluster()
    cluster.create(job("a"))
    assert cluster.state.resumptions is not None
    assert cluster.state.resumptions.get_creation_time("job-a") == 1767225600.0
    assert cluster.state.resumptions.get_creation_time("job-b") == 0.0
    cluster.delete("a")
    assert cluster.state.resumptions.get_creation_time("job-a") == 0.0


def test_a_second_pod_that_has_to_make_way_suspends_its_job_no_second_time():
    cluster = JobCluster(cpu="16", queues=PREEMPTING)
    cluster.create(job("low", 6))
    cluster.settle()
    cluster.holds_writes = True
    cluster.create(job("high", 4, priority=100))
    cluster.round(1)
    cluster.round(1)
    assert [each.suspended for each in cluster.unanswered] == [True]
    said = [each for each in cluster.events if each.reason is EventReason.PREEMPTED]
    assert len(said) == 1
    assert said[0].message.startswith("suspended: ")


def test_a_job_resumed_by_its_user_while_it_is_to_be_suspended_loses_its_pods_one_by_one():
    cluster = JobCluster(cpu="16", queues=PREEMPTING)
    cluster.create(job("low", 6))
    cluster.settle()
    cluster.holds_writes = True
    cluster.create(job("high", 4, priority=100))
    cluster.round()
    [write] = cluster.unanswered
    cluster.unanswered.clear()
    cluster.state.suspension_written(SuspensionEnd(write, "has changed", overtaken=True))
    assert not cluster.evicted
    cluster.change("low", backoffLimit=3)
    cluster.act()
    assert len(cluster.evicted) == 6

"""Jobs, whose gangs are known whether job or tasks come first."""

from __future__ import annotations

from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.state.cluster import Cluster
from firmament.core.state.jobs import JobTable
from tests.support.core import task_class


def test_members_are_known_before_their_job():
    jobs = JobTable()
    jobs.enlist(3, "j")
    jobs.enlist(1, "j")
    assert not jobs.gangs
    jobs.define(Job("j", min_members=2))
    assert jobs.members("j") == [1, 3]
    assert jobs.gangs == {"j"}
    assert jobs.changed == {"j"}


def test_a_job_of_one_is_no_gang():
    jobs = JobTable()
    jobs.define(Job("j", min_members=1))
    assert jobs.gang("j") is None
    assert jobs.changed == set()


def test_a_gang_may_cease_to_be_one():
    for end in ("redefined", "removed"):
        jobs = JobTable()
        jobs.define(Job("j", min_members=2))
        jobs.changed.clear()
        jobs.define(Job("j")) if end == "redefined" else jobs.remove("j")
        assert not jobs.gangs
        assert jobs.changed == {"j"}


def test_tasks_without_a_job_are_nowhere():
    jobs = JobTable()
    jobs.enlist(1, "")
    jobs.enlist_all([2, 3], "")
    assert jobs.members("") == []


def test_a_gang_has_changed_once_it_has_more_members():
    jobs = JobTable()
    jobs.define(Job("j", min_members=2))
    jobs.changed.clear()
    jobs.enlist_all([4, 2], "j")
    assert jobs.members("j") == [2, 4]
    assert jobs.changed == {"j"}
    jobs.changed.clear()
    jobs.enlist(3, "j")
    assert jobs.members("j") == [2, 3, 4]
    assert jobs.changed == {"j"}
    jobs.changed.clear()
    jobs.discharge(9, "unknown")
    assert jobs.changed == set()


def test_a_job_forgets_who_leaves():
    jobs = JobTable()
    jobs.define(Job("j", min_members=2))
    jobs.enlist(1, "j")
    jobs.changed.clear()
    jobs.discharge(1, "j")
    assert jobs.members("j") == []
    assert jobs.changed == {"j"}


def found_unschedulable(*uids: str) -> Cluster:
    """A cluster with tasks of a gang of two that no round could place, as rows in this order."""
    cluster = Cluster()
    events: list[Event] = [
        ClassDefined(1, task_class()),
        JobDefined(Job("j", min_members=2)),
        TasksSubmitted(1, uids, job="j"),
    ]
    apply_events(cluster, events, 0.0)
    cluster.tasks.unschedulable[: len(uids)] = True
    return cluster


def test_members_that_wait_are_tried_again_when_another_one_arrives():
    cluster = found_unschedulable("a")
    apply_events(cluster, [TasksSubmitted(1, ("b",), job="j")], 0.0)
    assert cluster.tasks.unschedulable[:2].tolist() == [False, False]


def test_members_that_wait_are_tried_again_when_a_task_of_another_job_joins():
    cluster = found_unschedulable("a")
    apply_events(cluster, [TasksSubmitted(1, ("b",), job="other")], 0.0)
    cluster.tasks.unschedulable[:2] = True
    apply_events(cluster, [TasksSubmitted(1, ("b",), job="j")], 0.0)
    assert cluster.tasks.unschedulable[:2].tolist() == [False, False]


def test_members_that_were_refused_for_good_go_on_waiting_when_another_one_arrives():
    cluster = found_unschedulable("a", "b")
    cluster.tasks.refused[0] = True
    apply_events(cluster, [TasksSubmitted(1, ("c",), job="j")], 0.0)
    assert cluster.tasks.unschedulable[:3].tolist() == [True, False, False]

"""Jobs, whose gangs are known whether job or tasks come first."""

from __future__ import annotations

from firmament.core.model import Job
from firmament.core.state.jobs import JobTable


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
    assert jobs.members("") == []


def test_a_job_forgets_who_leaves():
    jobs = JobTable()
    jobs.define(Job("j", min_members=2))
    jobs.enlist(1, "j")
    jobs.changed.clear()
    jobs.discharge(1, "j")
    assert jobs.members("j") == []
    assert jobs.changed == {"j"}

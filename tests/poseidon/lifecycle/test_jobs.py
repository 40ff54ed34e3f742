"""Jobs of known tasks: the solver is told of each once, of changes, and of the end of those that it knows."""

from __future__ import annotations

from poseidon.lifecycle.jobs import Jobs
from protos.firmament.v1 import scheduler_pb2 as pb


def job(name: str = "j", least: int = 0) -> pb.Job:
    return pb.Job(id=name, min_members=least)


def test_a_job_is_defined_once_and_ends_with_its_last_member():
    jobs = Jobs()
    jobs.join(job())
    jobs.join(job())
    assert len(jobs) == 1
    assert jobs.define("j") == job()
    assert jobs.define("j") is None
    jobs.leave("j")
    assert jobs.take_ended() == []
    jobs.leave("j")
    assert len(jobs) == 0
    assert jobs.take_ended() == ["j"]
    assert jobs.take_ended() == []
    assert jobs.define("j") is None


def test_the_end_of_a_job_that_the_solver_does_not_know_is_not_told():
    jobs = Jobs()
    jobs.join(job())
    jobs.leave("j")
    jobs.leave("unknown")
    assert jobs.take_ended() == []


def test_a_job_that_begins_anew_has_not_ended_and_is_known():
    jobs = Jobs()
    jobs.join(job())
    jobs.define("j")
    jobs.leave("j")
    jobs.join(job(least=2))
    assert jobs.take_ended() == []


def test_after_its_end_has_been_told_a_job_is_defined_again():
    jobs = Jobs()
    jobs.join(job())
    jobs.define("j")
    jobs.leave("j")
    jobs.take_ended()
    jobs.join(job())
    assert jobs.define("j") == job()


def test_only_jobs_with_members_can_be_joined_by_name():
    jobs = Jobs()
    assert not jobs.join_known("j")
    jobs.join(job())
    assert jobs.join_known("j")
    jobs.leave("j")
    assert len(jobs) == 1
    jobs.leave("j")
    assert len(jobs) == 0


def test_other_descriptions_are_told_where_the_former_is_known():
    jobs = Jobs()
    jobs.replace(job(least=1))
    assert len(jobs) == 0
    jobs.join(job())
    jobs.replace(job(least=2))
    assert jobs.take_changed() == []
    assert jobs.define("j") == job(least=2)
    jobs.replace(job(least=2))
    assert jobs.take_changed() == []
    jobs.replace(job(least=3))
    assert jobs.take_changed() == [job(least=3)]
    assert jobs.take_changed() == []
    jobs.replace(job(least=4))
    jobs.leave("j")
    assert jobs.take_changed() == []


def test_a_new_solver_knows_nothing():
    jobs = Jobs()
    for name in ("a", "b"):
        jobs.join(job(name))
        jobs.define(name)
    jobs.replace(job("a", 2))
    jobs.leave("b")
    jobs.forget_sent()
    assert (jobs.take_changed(), jobs.take_ended()) == ([], [])
    assert jobs.define("a") == job("a", 2)


def test_a_gang_that_has_been_whole_is_told_as_such():
    jobs = Jobs()
    jobs.set_been_whole("j", was_whole=True)
    assert not jobs.has_been_whole("j")
    jobs.join(job())
    jobs.set_been_whole("j", was_whole=True)
    assert jobs.has_been_whole("j")
    found = jobs.define("j")
    assert found is not None
    assert found.was_whole
    jobs.replace(job(least=3))
    assert jobs.take_changed() == [pb.Job(id="j", min_members=3, was_whole=True)]
    jobs.set_been_whole("j", was_whole=False)
    assert not jobs.has_been_whole("j")
    jobs.set_been_whole("j", was_whole=True)
    jobs.leave("j")
    assert not jobs.has_been_whole("j")

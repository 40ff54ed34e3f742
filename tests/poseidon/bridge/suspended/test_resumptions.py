"""Suspended Jobs in queues are resumed when, and only when, there are places for all of their pods."""

from __future__ import annotations

from typing import Any

from poseidon.bridge.suspended.resumptions import EXPLAIN_AFTER_SECONDS
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.write.suspension_writer import SuspensionEnd
from poseidon.lifecycle.placements import parts_of
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas


def test_a_job_is_resumed_once_all_its_pods_have_places_and_they_take_these():
    cluster = JobCluster()
    cluster.create(job("a", 3))
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert len(cluster.writes) == 1
    assert all(cluster.places("a"))
    assert not cluster.events
    assert len(cluster.places("a")) == 3
    assert len(cluster.state.tasks) == 3, "no placeholder is left"


def test_a_job_that_does_not_fit_stays_suspended_and_says_why():
    cluster = JobCluster(cpu="16")
    cluster.create(job("large", 9))
    cluster.settle()
    assert cluster.is_suspended("large")
    assert not cluster.writes
    assert not cluster.events, "it has waited for a short time only"
    cluster.now += EXPLAIN_AFTER_SECONDS
    cluster.settle()
    [said] = [each for each in cluster.events if each.reason is EventReason.FAILED_SCHEDULING]
    assert said.group.name == "large"
    assert "needs 9 places" in said.message


def test_quota_is_taken_by_places_that_are_held():
    cluster = JobCluster(cpu="16")
    cluster.creates_pods = False
    cluster.create(job("a", 5), job("b", 5))
    cluster.settle()
    assert sorted(map(cluster.is_suspended, "ab")) == [False, True]
    cluster.creates_pods = True
    cluster.settle()
    assert sorted(map(cluster.is_suspended, "ab")) == [False, True]
    first = "a" if not cluster.is_suspended("a") else "b"
    assert all(cluster.places(first))
    cluster.finish(first)
    cluster.settle()
    assert not cluster.is_suspended("b" if first == "a" else "a")


def test_pods_that_take_places_are_bound_without_a_round():
    cluster = JobCluster()
    cluster.creates_pods = False
    cluster.create(job("a", 2))
    cluster.settle()
    held = sorted(record.place for record in cluster.state.tasks)
    assert len(held) == 2
    cluster.creates_pods = True
    cluster.control()
    cluster.act()
    assert cluster.places("a") == held


PREEMPTING = (
    flavor(),
    cluster_queue("team", quotas(cpu=8), preemption={"withinClusterQueue": "LowerPriority"}),
    local_queue("users", "team"),
)


def test_a_job_that_has_to_make_way_is_suspended_as_a_whole_and_comes_back():
    cluster = JobCluster(cpu="16", queues=PREEMPTING)
    cluster.create(job("low", 6))
    cluster.settle()
    assert not cluster.is_suspended("low")
    cluster.create(job("high", 4, priority=100))
    cluster.settle()
    assert cluster.is_suspended("low")
    assert cluster.places("low") == []
    assert all(cluster.places("high"))
    assert not cluster.evicted, "its controller deletes the pods"
    assert [each.suspended for each in cluster.writes] == [False, True, False]
    assert EventReason.PREEMPTED in {each.reason for each in cluster.events if each.group.name == "low"}
    cluster.finish("high")
    cluster.settle()
    assert not cluster.is_suspended("low")
    assert all(cluster.places("low"))


def test_a_job_whose_pods_have_not_come_makes_way_too():
    cluster = JobCluster(cpu="16", queues=PREEMPTING, creates_pods=False)
    cluster.create(job("low", 6))
    cluster.settle()
    assert not cluster.is_suspended("low")
    cluster.create(job("high", 4, priority=100))
    cluster.settle()
    assert (cluster.is_suspended("low"), cluster.is_suspended("high")) == (True, False)


def test_pods_are_evicted_if_their_job_cannot_be_suspended():
    cluster = JobCluster(cpu="16", queues=PREEMPTING)
    cluster.create(job("low", 6))
    cluster.settle()
    cluster.holds_writes = True
    cluster.create(job("high", 4, priority=100))
    cluster.round()
    [write] = cluster.unanswered
    assert write.suspended
    assert list_leaving(cluster, "low") == [True] * 6
    cluster.state.suspension_written(SuspensionEnd(write, "forbidden"))
    assert list_leaving(cluster, "low") == [True] * 6, "now each is evicted for others"
    cluster.unanswered.clear()
    cluster.holds_writes = False
    cluster.act()
    assert len(cluster.evicted) == 6


def list_leaving(cluster, name):
    """Whether each pod of a Job is to leave for others, so that no room is kept of it."""
    records = (cluster.state.tasks.get(pod["metadata"]["uid"]) for pod in cluster.list_pods(name))
    return [record.asked_to_leave for record in records]


def test_pods_of_a_job_that_its_user_suspends_are_to_leave():
    cluster = JobCluster(cpu="16")
    cluster.create(job("a", 3))
    cluster.settle()
    assert list_leaving(cluster, "a") == [False] * 3
    cluster.jobs["a"]["spec"]["suspend"] = True
    cluster.jobs["a"]["metadata"]["generation"] += 1
    cluster.show_job(cluster.jobs["a"])
    assert list_leaving(cluster, "a") == [True] * 3


def test_after_a_restart_pods_of_a_suspended_job_are_still_to_leave():
    cluster = JobCluster(cpu="16")
    for name, pods in (("a", 3), ("b", 2)):
        cluster.create(job(name, pods))
    cluster.settle()
    cluster.jobs["a"]["spec"]["suspend"] = True
    cluster.restart()
    assert list_leaving(cluster, "a") == [True] * 3
    assert list_leaving(cluster, "b") == [False] * 2


def test_after_a_restart_pods_that_are_being_deleted_take_no_places_of_those_to_come():
    cluster = JobCluster(cpu="16")
    cluster.create(job("a", 3))
    cluster.settle()
    left, *others = cluster.list_pods("a")
    for pod in others:
        cluster.remove(pod["metadata"]["uid"])
    left["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
    cluster.jobs["a"]["spec"]["suspend"] = True
    cluster.jobs["a"]["metadata"]["generation"] += 1
    cluster.restart()
    cluster.remove(left["metadata"]["uid"])
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert len(cluster.places("a")) == 3
    assert all(cluster.places("a"))


def test_after_a_restart_places_are_held_for_pods_that_have_not_come():
    cluster = JobCluster(cpu="16", creates_pods=False)
    cluster.create(job("a", 6))
    cluster.settle()
    assert not cluster.is_suspended("a")
    cluster.restart()
    cluster.create(job("b", 6))
    cluster.settle()
    assert cluster.is_suspended("b")
    assert len([record for record in cluster.state.tasks if record.place]) == 6
    cluster.creates_pods = True
    cluster.settle()
    assert all(cluster.places("a"))
    assert cluster.is_suspended("b")


def test_after_a_restart_only_pods_that_are_missing_are_stood_for():
    cluster = JobCluster(cpu="16")
    cluster.create(job("a", 4))
    cluster.settle()
    cluster.creates_pods = False
    cluster.remove(cluster.list_pods("a")[0]["metadata"]["uid"])
    cluster.restart()
    cluster.settle(1)
    assert len(cluster.state.tasks) == 4
    cluster.creates_pods = True
    cluster.settle()
    assert len(cluster.state.tasks) == 4
    assert all(cluster.places("a"))


def test_a_job_whose_pods_never_come_waits_again_after_a_pause():
    cluster = JobCluster(creates_pods=False)
    cluster.create(job("a", 2))
    cluster.settle()
    assert not cluster.is_suspended("a")
    cluster.now += 301
    cluster.settle()
    assert cluster.is_suspended("a")
    assert len(cluster.state.tasks) == 0, "it pauses"
    cluster.creates_pods = True
    cluster.now += 60
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert all(cluster.places("a"))


def test_places_of_pods_that_a_running_job_does_not_create_are_given_back():
    cluster = JobCluster(creates_pods=False)
    cluster.create(job("a", 4))
    cluster.settle()
    cluster.jobs["a"]["spec"]["parallelism"] = 1  # as if its controller had been told before
    cluster.creates_pods = True
    cluster.control()
    cluster.act()
    assert len(cluster.state.tasks) == 4
    cluster.now += 301
    cluster.state.expire()
    cluster.act()
    assert len(cluster.state.tasks) == 1
    assert not cluster.is_suspended("a")


def test_a_job_that_changes_while_it_is_resumed_is_placed_anew():
    cluster = JobCluster(cpu="16", holds_writes=True)
    cluster.create(job("a", 2))
    cluster.round()
    assert len(cluster.unanswered) == 1
    cluster.jobs["a"]["spec"].update(parallelism=9, completions=9)
    cluster.jobs["a"]["metadata"]["generation"] += 1
    cluster.answer()
    assert cluster.is_suspended("a"), "the patch is of another spec"
    cluster.show_all()
    cluster.settle()
    assert cluster.is_suspended("a")
    cluster.change("a", parallelism=8, completions=8)
    cluster.holds_writes = False
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert all(cluster.places("a"))


def test_a_lost_answer_does_no_harm():
    cluster = JobCluster(holds_writes=True)
    cluster.create(job("a", 2))
    cluster.round()
    [write] = cluster.unanswered
    cluster.unanswered.clear()
    assert not cluster.carry_out(write).refusal
    cluster.state.suspension_written(cluster.carry_out(write))  # the second try
    held = sorted(record.place for record in cluster.state.tasks)
    cluster.show_all()
    cluster.control()
    cluster.act()
    assert cluster.places("a") == held
    assert len(cluster.writes) == 1


def test_what_the_watch_shows_late_changes_nothing():
    cluster = JobCluster(creates_pods=False)
    former = job("a", 2)
    cluster.create(job("a", 2))
    cluster.round()
    assert not cluster.is_suspended("a")
    cluster.show_job(former)
    cluster.act()
    cluster.creates_pods = True
    cluster.show_all()
    cluster.control()
    cluster.act()
    assert all(cluster.places("a"))
    assert len(cluster.writes) == 1


def test_a_job_that_its_user_resumes_or_suspends_is_left_to_its_user():
    cluster = JobCluster(cpu="16")
    cluster.create(job("a", 9))
    cluster.settle()
    cluster.change("a", suspend=False)
    cluster.settle()
    assert cluster.places("a") == [""] * 9
    assert not cluster.writes
    cluster.change("a", suspend=True, parallelism=3)
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert all(cluster.places("a"))


def test_jobs_that_are_none_of_its_business_stay_as_they_are():
    cluster = JobCluster()
    part = job("part", 1)
    part["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "set", "uid": "s", "controller": True}]
    ended = job("ended", 1)
    ended["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    cluster.create(
        job("other", 1, schedulerName="default-scheduler"), job("unqueued", 1, queue=""), part, ended
    )
    cluster.settle()
    assert not cluster.writes
    assert len(cluster.state.tasks) == 0


def test_a_job_may_begin_with_fewer_pods_if_it_says_so():
    cluster = JobCluster(cpu="16")
    elastic = job("elastic", 12)
    elastic["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "3"}
    cluster.create(elastic)
    cluster.settle()
    assert not cluster.is_suspended("elastic")
    assert sum(map(bool, cluster.places("elastic"))) == 8


def test_pods_that_differ_from_the_template_are_placed_like_any_others():
    cluster = JobCluster(creates_pods=False)
    cluster.create(job("a", 2))
    cluster.settle()
    cluster.jobs["a"]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    cluster.creates_pods = True
    cluster.control()
    cluster.act()
    assert cluster.places("a") == ["", ""]
    assert len(cluster.state.tasks) == 2
    cluster.settle()
    assert cluster.places("a") == ["n1", "n2"]


def test_nothing_is_left_of_jobs_that_are_deleted_at_any_stage():
    cluster = JobCluster(cpu="16", holds_writes=True)
    cluster.create(job("a", 2), job("b", 9), job("c", 3))
    cluster.delete("c")
    cluster.round()
    cluster.delete("a")
    cluster.answer()
    cluster.delete("b")
    cluster.settle()
    assert len(cluster.state.tasks) == 0
    assert not list(cluster.state.gangs.groups)


def test_a_node_that_takes_nothing_any_more_keeps_a_job_suspended():
    cluster = JobCluster(nodes=("n1",))
    cluster.create(job("a", 2))
    result = cluster.scheduler.run_round()
    cluster.state.nodes_changed([present(node("n1", unschedulable=True))])
    cluster.state.on_round(result)
    cluster.act()
    assert cluster.is_suspended("a")
    cluster.state.nodes_changed([present(node("n1"))])
    cluster.now += 100
    cluster.settle()
    assert not cluster.is_suspended("a")


def test_an_important_job_alone_is_not_held_up_by_placeholders_that_wait_for_victims():
    """While victims leave, nobody is resumed; afterwards all are at once."""
    cluster = JobCluster(cpu="4", queues=PREEMPTING)
    cluster.create(job("low-1", 4), job("low-2", 4))
    cluster.settle()
    cluster.create(job("high", 6, priority=100))
    cluster.round()
    assert cluster.is_suspended("high")
    cluster.settle()
    assert not cluster.is_suspended("high")
    assert all(cluster.places("high"))


def test_a_part_of_a_round_resumes_nothing():
    cluster = JobCluster(holds_writes=True)
    cluster.create(job("a", 3))
    cluster.act()
    first, *others = parts_of(cluster.scheduler.run_round(), 1)
    cluster.state.on_round(first)
    cluster.act()
    assert not cluster.unanswered
    for part in others:
        cluster.state.on_round(part)
    cluster.act()
    assert len(cluster.unanswered) == 1


def test_pods_elsewhere_make_way_for_the_quota_that_they_use():
    """The bridge sees why, although the pods that come get other nodes, and are no more important."""
    spec: dict[str, Any] = {
        "cohort": "all",
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
    }
    cluster = JobCluster(
        nodes=tuple(f"n{number}" for number in range(6)),
        queues=(
            flavor(),
            cluster_queue("mine", quotas(cpu=4), **spec),
            cluster_queue("theirs", quotas(cpu=6), **spec),
            local_queue("users", "mine"),
            local_queue("others", "theirs"),
        ),
    )
    cluster.create(job("first", 4), job("borrower", 4))
    cluster.settle()
    assert not cluster.is_suspended("borrower")
    cluster.create(job("owner", 5, queue="others"))
    cluster.settle()
    assert not cluster.is_suspended("owner")
    assert all(cluster.places("owner"))
    assert sorted(map(cluster.is_suspended, ("first", "borrower"))) == [False, True]


def test_an_event_says_once_that_a_job_waits_for_others_to_leave():
    cluster = JobCluster(queues=PREEMPTING)
    cluster.create(job("low-1", 4), job("low-2", 4))
    cluster.settle()
    cluster.holds_writes = True
    cluster.create(job("high", 8, priority=100))
    cluster.settle()
    cluster.now += EXPLAIN_AFTER_SECONDS
    cluster.settle()
    said = [each.message for each in cluster.events if each.group.name == "high"]
    assert said == ["waits until pods that make way for it have left their nodes"]


def test_jobs_that_make_no_sense_stay_suspended_and_hold_up_nobody():
    cluster = JobCluster()
    huge, odd, listed = job("huge", 2**31), job("odd"), job("listed")
    odd["spec"]["template"]["spec"]["containers"] = "main"
    listed["spec"]["template"] = []
    empty = job("empty")
    del empty["spec"]["template"]
    for each in (huge, odd, listed, empty):
        cluster.create(each)
    cluster.create(job("good", 2))
    cluster.settle()
    assert all(cluster.places("good"))
    assert [write.about.name for write in cluster.writes] == ["good"]
    told = {each.group.name for each in cluster.events if each.reason is EventReason.INVALID_SPEC}
    assert {"huge", "odd", "listed"} <= told

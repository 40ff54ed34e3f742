"""What is told of quotas after a round: use, what is borrowed, what is left, and who waits; only what has changed."""

from __future__ import annotations

from firmament.core.events import ClassDefined, Event, RecordRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.results import QueueState, QuotaUse
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks, uids

TEAM = task_class(1000, queue="team")


def test_use_of_all_is_told_and_then_what_changes():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1000}}),
        quota("team", {"any": {"cpu": 2000}}, parent="cohort"),
        quota("idle", {"any": {"cpu": 0}}, parent="cohort"),
        quota("odd", parent="nowhere"),
        tasks(1, *uids("t", 4), content=TEAM),
        ClassDefined(2, task_class(100)),
    )
    assert set(core.run_round().queues) == {
        QueueState("cohort", (QuotaUse("any", "cpu", 3000, 0, 0),)),
        QueueState("team", (QuotaUse("any", "cpu", 3000, 1000, 0),), waiting=1, admitted=3),
        QueueState("idle", (QuotaUse("any", "cpu", 0, 0, 0),)),
        QueueState("odd", message="nowhere, above odd, does not exist"),
    }
    assert core.run_round().queues == ()
    core.apply([TaskRemoved("t-3")])
    (told,) = core.run_round().queues
    assert (told.name, told.waiting, told.admitted) == ("team", 0, 3)
    core.apply([RecordRemoved(QUOTA_RECORD, "odd")])
    assert core.run_round().queues == ()


def test_nothing_is_told_without_quotas():
    core = scheduler(machine("a"), tasks(1, "t", content=task_class(100)))
    assert core.run_round().queues == ()


def names(core: Scheduler) -> list[str]:
    """The quotas whose state a round tells."""
    return sorted(each.name for each in core.run_round().queues)


def test_use_is_told_also_of_what_a_quota_does_not_state_itself():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("top"),
        quota("team", {"any": {"cpu": 2000}}, parent="top"),
        tasks(1, "t", content=TEAM),
    )
    found = {each.name: each.uses for each in core.run_round().queues}
    assert found["top"] == (QuotaUse("any", "cpu", 1000, 0, 1000),)
    assert found["team"] == (QuotaUse("any", "cpu", 1000, 0, 1000),)


def test_whoever_has_less_left_because_others_borrow_is_told_too():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1000}}),
        quota("team", {"any": {"cpu": 1000}}, parent="cohort"),
        quota("idle", {"any": {"cpu": 0}}, parent="cohort"),
        quota("apart", {"any": {"cpu": 5000}}),
        tasks(1, "t", content=TEAM),
    )
    assert names(core) == ["apart", "cohort", "idle", "team"]
    core.apply([TasksSubmitted(1, ("u",))])
    assert names(core) == ["cohort", "idle", "team"]


def test_a_task_that_takes_nothing_is_counted_all_the_same():
    core = scheduler(
        machine("a"),
        flavor("any"),
        quota("team", {"any": {"cpu": 1000}}),
        ClassDefined(1, task_class(0, queue="team")),
    )
    assert names(core) == ["team"]
    core.apply([TasksBound("a", 1, ("t",))])
    (told,) = core.run_round().queues
    assert (told.name, told.waiting, told.admitted) == ("team", 0, 1)


def test_what_is_borrowed_may_change_alone():
    """The quota gets what it has borrowed, and its cohort has that much less to lend."""

    def stated(own: int, lent: int) -> list[Event]:
        return [
            quota("cohort", {"any": {"cpu": lent}}),
            quota("team", {"any": {"cpu": own}}, parent="cohort"),
        ]

    core = scheduler(
        machine("a", cpu=9000), flavor("any"), stated(1000, 1000), tasks(1, "t", "u", content=TEAM)
    )
    uses = {each.name: each.uses for each in core.run_round().queues}
    assert uses["team"] == (QuotaUse("any", "cpu", 2000, 1000, 0),)
    core.apply(stated(2000, 0))
    (told,) = core.run_round().queues
    assert (told.name, told.uses) == ("team", (QuotaUse("any", "cpu", 2000, 0, 0),))


def test_quotas_that_are_stated_again_after_all_had_gone_are_told_again():
    stated: list[Event] = [quota("team", {"any": {"cpu": 1000}}), quota("odd", parent="nowhere")]
    core = scheduler(machine("a"), flavor("any"), stated)
    assert names(core) == ["odd", "team"]
    core.apply([RecordRemoved(QUOTA_RECORD, name) for name in ("team", "odd")])
    assert names(core) == []
    core.apply(stated)
    assert names(core) == ["odd", "team"]
    assert names(core) == []

"""What is told of quotas after a round: use, what is borrowed, what is left, and who waits; only what has changed."""

from __future__ import annotations

from firmament.core.events import ClassDefined, RecordRemoved, TaskRemoved
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.results import QueueState, QuotaUse
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

"""Gangs and single tasks of one priority draw on quotas in one order: who borrows less comes first."""

from __future__ import annotations

import pytest

from firmament.core.events import ClassDefined, JobDefined, TasksSubmitted
from firmament.core.model import Job
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class, uids


@pytest.mark.parametrize(("own", "first"), [(0, {"gang-0", "gang-1"}), (2, {"single"})])
def test_a_gang_borrows_nothing_that_a_single_task_has_of_its_own(own: int, first: set[str]):
    """A gang that never fits makes the round try gangs one by one; without quota of its own, the task comes last."""
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 4 - own}}),
        quota("left", {"any": {"cpu": 0}}, parent="cohort"),
        quota("right", {"any": {"cpu": own}}, parent="cohort"),
        ClassDefined(1, task_class(2, queue="left")),
        ClassDefined(2, task_class(2, queue="right")),
        JobDefined(Job("gang", size=2, min_members=2)),
        JobDefined(Job("large", size=3, min_members=3)),
        TasksSubmitted(1, uids("gang", 2), job="gang"),
        TasksSubmitted(1, uids("large", 3), job="large"),
        TasksSubmitted(2, ("single",)),
    )
    assert {*placed(core.run_round())} == first

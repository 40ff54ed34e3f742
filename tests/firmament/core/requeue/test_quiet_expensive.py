"""Tasks that are too expensive to be checked against every change ask for a round some time after the first change."""

from __future__ import annotations

from firmament.core.configuration import RoundOptions
from firmament.core.requeue.requeue import RETRY_SECONDS
from tests.firmament.core.queue.test_work_budgets import MOST, crowded, until_quiet
from tests.support.core import Clock, machine, placed


def test_who_is_retried_later_asks_for_a_round_then_and_for_none_before():
    clock = Clock()
    core = crowded(RoundOptions(class_checks=0, namespace_checks=MOST), clock, machines=1)
    until_quiet(core)
    assert core.next_round_in() is None
    core.apply([machine("new", labels={"host": "new"})])
    assert core.next_round_in() == RETRY_SECONDS
    clock.advance(1.0)
    core.apply([machine("newer", labels={"host": "newer"})])
    assert core.next_round_in() == RETRY_SECONDS - 1.0, "the first change counts"
    clock.advance(RETRY_SECONDS - 1.0)
    where = {name for each in until_quiet(core) for name in placed(each).values()}
    assert where == {"new", "newer"}

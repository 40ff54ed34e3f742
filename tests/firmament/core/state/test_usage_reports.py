"""Reports of use: for whom they are stored, and when machines are due to be looked at because of them."""

from __future__ import annotations

import pytest

from cost_models.interface import Needs
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineSampled,
    MachineSampleRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
    TaskUses,
)
from firmament.core.intake.events import apply_events
from firmament.core.state.cluster import Cluster
from firmament.core.state.usage_reports import MARK_EVERY
from tests.support.core import machine, task_class
from tests.support.rules import ints


def cluster(**needs: bool) -> Cluster:
    made = Cluster(Needs(**(needs or {"load": True})))  # type: ignore[arg-type]  # fields by name
    events: list[Event] = [machine("m"), machine("n"), ClassDefined(1, task_class())]
    apply_events(made, [*events, TasksBound("n", 1, ("t", "u")), TasksSubmitted(1, ("w",))], 0.0)
    return made


def report(made: Cluster, name: str, cpu: float, time: float = 1.0, tasks: TaskUses | None = None) -> None:
    made.reports.apply(MachineSampled(name, time, {"cpu": cpu}, tasks=tasks))


USES = TaskUses(("u", "unknown", "t"), ("cpu",), (3.0, 4.0, 5.0))


def test_a_report_is_stored_with_those_of_known_tasks():
    made = cluster()
    report(made, "n", 7.0, tasks=USES)
    column = made.resources.names.index("cpu")
    assert made.machines.samples.find_measured(2).tolist() == [False, True]
    assert made.machines.samples.usage(2)[1, column] == 7.0
    rows = ints(made.tasks.row_of["t"], made.tasks.row_of["u"])
    assert made.task_samples.usage(rows)[:, column].tolist() == [5.0, 3.0]
    assert made.task_samples.stamp(rows).tolist() == [1, 1]


def test_unknown_machines_and_tasks_and_older_reports_are_ignored():
    made = cluster()
    report(made, "gone", 7.0)
    made.reports.apply(MachineSampleRemoved("gone"))
    made.reports.apply(TaskSampled("gone", 1.0, {"cpu": 1.0}))
    assert made.machines.samples.last_change == 0
    report(made, "n", 7.0, time=5.0)
    mark = made.machines.changes.mark()
    report(made, "n", 9.0, time=4.0, tasks=USES)
    assert made.machines.samples.last_change == 1
    assert made.task_samples.stamp(ints(0, 1)).tolist() == [0, 0]
    assert (made.machines.changes.stamps(2) <= mark).all()


def test_machines_change_with_their_reports():
    made = cluster()
    mark = made.machines.changes.mark()
    report(made, "n", 7.0)
    assert (made.machines.changes.stamps(2) > mark).tolist() == [False, True]
    mark = made.machines.changes.mark()
    made.reports.apply(MachineSampleRemoved("n"))
    assert (made.machines.changes.stamps(2) > mark).tolist() == [False, True]
    assert not made.machines.samples.find_measured(2).any()


def test_use_of_a_task_belongs_to_the_last_report_of_its_machine():
    made = cluster()
    report(made, "n", 7.0)
    report(made, "n", 8.0, time=2.0)
    made.reports.apply(TaskSampled("t", 2.0, {"cpu": 2.5}))
    made.reports.apply(TaskSampled("w", 2.0, {"cpu": 2.5}))
    rows = ints(made.tasks.row_of["t"], made.tasks.row_of["w"])
    assert made.task_samples.stamp(rows).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("needs", "kept"), [({"load": True}, True), ({"unseen": True}, True), ({"residents": True}, False)]
)
def test_use_of_tasks_is_kept_only_if_some_model_reads_it(needs: dict[str, bool], kept: bool):
    made = cluster(**needs)
    report(made, "n", 7.0, tasks=USES)
    made.reports.apply(TaskSampled("t", 1.0, {"cpu": 2.5}))
    assert (made.task_samples.stamp(ints(0, 1)) > 0).tolist() == [kept, kept]


def test_machines_are_due_once_after_each_report_and_not_too_often():
    made = cluster()
    due = made.reports.due
    assert due(0.0)[0] is None
    assert due(0.0)[1].tolist() == []
    report(made, "n", 7.0)
    wait, rows = due(10.0)
    assert (wait, rows.tolist()) == (None, [1])
    assert due(10.5)[1].tolist() == []
    report(made, "m", 7.0)
    report(made, "n", 8.0, time=2.0)
    wait, rows = due(10.25)
    assert wait == pytest.approx(MARK_EVERY - 0.25)
    assert rows.tolist() == []
    wait, rows = due(10.0 + MARK_EVERY)
    assert (wait, rows.tolist()) == (None, [0, 1])


def test_a_clock_that_was_set_back_delays_nothing():
    made = cluster()
    report(made, "n", 7.0)
    made.reports.due(100.0)
    report(made, "n", 8.0, time=2.0)
    wait, rows = made.reports.due(50.0)
    assert (wait, rows.tolist()) == (None, [1])

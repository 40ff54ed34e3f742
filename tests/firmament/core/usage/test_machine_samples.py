"""Reports of use by row: what is stored, replaced, moved and forgotten, over periods too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.events import MachineSampled, TaskUses, WindowUse
from firmament.core.resources import ResourceIndex
from firmament.core.usage import samples as module
from firmament.core.usage.samples import MachineSamples, TaskSamples, UseTable
from tests.support.rules import ints

CPU = 1


def report(time: float = 10.0, cpu: float = 5.0, **more: Any) -> MachineSampled:
    return MachineSampled("m", time, {"cpu": cpu, "unknown": 9.0}, **more)


def windows(**use: float) -> tuple[WindowUse, ...]:
    """Periods named like ``p50_60``: type, and seconds."""
    return tuple(
        WindowUse(name.partition("_")[0], float(name.partition("_")[2]), {"cpu": value})
        for name, value in use.items()
    )


def made(*reports: MachineSampled, row: int = 0) -> MachineSamples:
    found = MachineSamples(ResourceIndex())
    for each in reports:
        found.record(row, each, history=True)
    return found


def cpu(table: np.ndarray) -> list[float]:
    return np.nan_to_num(table[:, CPU], nan=-1.0).tolist()


class TestReports:
    def test_nothing_is_known_before_the_first(self):
        found = made()
        assert cpu(found.usage(2)) == [0.0, 0.0]
        assert found.find_measured(2).tolist() == [False, False]
        assert np.isnan(found.time(2)).all()
        assert (found.interval(2).tolist(), found.stamp(2).tolist()) == ([0.0, 0.0], [0, 0])
        assert found.last_change == 0
        assert not found.find_changed(0, 2).any()
        assert cpu(found.window("avg", 0.0, 2)) == [-1.0, -1.0]

    def test_the_last_one_counts(self):
        found = made(report(interval=60.0, system={"cpu": 2.0}), report(11.0, 7.0), row=1)
        assert cpu(found.usage(2)) == [0.0, 7.0]
        assert found.find_measured(2).tolist() == [False, True]
        assert found.time(2)[1] == 11.0
        assert (found.interval(2).tolist(), found.stamp(2).tolist()) == ([0.0, 0.0], [0, 2])
        assert cpu(found.system(2)) == [0.0, 0.0], "what is not stated any more is not known"
        assert cpu(made(report(system={"cpu": 2.0})).system(2)) == [2.0, 0.0]
        assert cpu(made(report(system={"cpu": 2.0})).system(1)) == [2.0]

    @pytest.mark.parametrize(("time", "stored"), [(9.9, 0), (10.0, 2), (10.1, 2)])
    def test_an_earlier_one_is_ignored(self, time: float, stored: int):
        found = made(report())
        assert found.record(0, report(time, 6.0), history=True) == stored
        assert cpu(found.usage(1)) == [6.0 if stored else 5.0]
        assert found.last_change == (stored or 1)

    def test_one_without_figures_leaves_none(self):
        found = made(report(), report(11.0, no_usage=True))
        assert found.find_measured(1).tolist() == [False]
        assert found.stamp(1).tolist() == [2]

    def test_changes_are_numbered_over_all_machines(self):
        found = made(report())
        found.record(3, report(), history=False)
        assert found.stamp(4).tolist() == [1, 0, 0, 2]
        assert found.find_changed(1, 4).tolist() == [False, False, False, True]
        assert found.find_changed(0, 4).tolist() == [True, False, False, True]

    def test_many_rows(self):
        found = made(report(), row=500)
        assert found.time(501)[500] == 10.0
        assert np.isnan(found.time(501)[:500]).all()
        assert cpu(found.usage(501))[499:] == [0.0, 5.0]


class TestPeriods:
    STATED = report(own_windows=True, windows=windows(p50_60=1.0, p50_300=2.0, p95_60=3.0))

    @pytest.mark.parametrize(
        ("kind", "seconds", "expected"),
        [
            ("p50", 60.0, 1.0),
            ("p50", 300.0, 2.0),
            ("p50", 0.0, 2.0),
            ("p95", 60.0, 3.0),
            ("p95", 300.0, -1.0),
            ("avg", 0.0, -1.0),
        ],
    )
    def test_stated_ones_are_told_and_the_longest_if_any_would_do(
        self, kind: str, seconds: float, expected: float
    ):
        assert cpu(made(self.STATED).window(kind, seconds, 1)) == [expected]

    def test_each_machine_has_its_own_longest(self):
        found = made(self.STATED)
        found.record(1, report(own_windows=True, windows=windows(p50_60=8.0)), history=True)
        assert cpu(found.window("p50", 0.0, 3)) == [2.0, 8.0, -1.0]

    def test_others_come_from_past_reports(self):
        found = made(report(10.0, 4.0), report(70.0, 8.0))
        found.record(1, self.STATED, history=True)
        assert cpu(found.window("avg", 0.0, 2)) == [6.0, -1.0], (
            "a source with statistics of its own has no others"
        )
        assert cpu(found.window("avg", 30.0, 1)) == [8.0]
        forgetful = MachineSamples(ResourceIndex())
        forgetful.record(0, report(), history=False)
        assert cpu(forgetful.window("avg", 0.0, 1)) == [-1.0]
        unmeasured = made(report(10.0, 4.0), report(70.0, no_usage=True))
        assert cpu(unmeasured.window("avg", 0.0, 1)) == [-1.0]

    def test_a_new_report_replaces_all_periods(self):
        found = made(self.STATED, report(11.0, own_windows=True, windows=windows(p95_60=9.0)))
        assert cpu(found.window("p50", 0.0, 1)) == [-1.0]
        assert cpu(found.window("p95", 0.0, 1)) == [9.0]

    def test_there_are_not_more_than_fit_and_unused_ones_make_room(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(module, "MOST_WINDOWS", 2)
        found = made(report(own_windows=True, windows=windows(p50_60=1.0, p50_120=2.0, p50_180=3.0)))
        assert [cpu(found.window("p50", seconds, 1)) for seconds in (60.0, 120.0, 180.0)] == [
            [1.0],
            [2.0],
            [-1.0],
        ]
        found.record(
            0, report(11.0, own_windows=True, windows=windows(p50_180=3.0, p50_60=4.0)), history=True
        )
        assert [cpu(found.window("p50", seconds, 1)) for seconds in (60.0, 120.0, 180.0)] == [
            [4.0],
            [-1.0],
            [3.0],
        ]

    def test_an_empty_period_is_none(self):
        found = made(report(own_windows=True, windows=(WindowUse("p50", 60.0, {}),)))
        assert cpu(found.window("p50", 0.0, 1)) == [-1.0]


class TestRows:
    def test_what_is_withdrawn_is_a_change_and_what_is_reset_is_none(self):
        found = made(report(interval=5.0, system={"cpu": 1.0}, own_windows=True, windows=windows(p50_60=1.0)))
        found.withdraw(0)
        assert (found.last_change, found.find_changed(1, 1).tolist()) == (2, [True])
        assert (found.stamp(1).tolist(), found.find_measured(1).tolist()) == ([0], [False])
        assert np.isnan(found.time(1)[0])
        assert (cpu(found.system(1)), cpu(found.window("p50", 0.0, 1))) == ([0.0], [-1.0])
        again = made(report())
        again.reset(0)
        assert (again.last_change, again.find_changed(0, 1).tolist()) == (1, [False])
        again.record(0, report(1.0), history=True)
        assert again.time(1)[0] == 1.0, "an earlier one is the first again"

    def test_a_row_moves_with_all_that_is_known(self):
        found = made(report(10.0, 4.0), report(70.0, 8.0, interval=5.0, system={"cpu": 1.0}), row=3)
        found.move(3, 1)
        assert cpu(found.usage(4)) == [0.0, 8.0, 0.0, 8.0]
        assert found.find_measured(4).tolist() == [False, True, False, False]
        assert (found.stamp(4).tolist(), found.interval(2)[1]) == ([0, 2, 0, 0], 5.0)
        assert cpu(found.system(2)) == [0.0, 1.0]
        assert cpu(found.window("avg", 0.0, 4)) == [-1.0, 6.0, -1.0, -1.0]
        stated = made(TestPeriods.STATED, row=2)
        stated.move(2, 0)
        assert cpu(stated.window("p50", 60.0, 3)) == [1.0, -1.0, -1.0]

    def test_columns_may_go(self):
        found = made(report(10.0, 4.0, system={"cpu": 1.0}), report(70.0, 8.0, system={"cpu": 1.0}))
        found.keep_columns(ints(CPU, 0))
        assert found.usage(1)[0, 0] == 8.0
        assert found.system(1)[0, 0] == 1.0

    def test_amounts_are_left_out_for_a_while(self):
        found = made(report(10.0, 4.0), report(70.0, 8.0))
        with found.leave_out(np.full((1, 4), 5.0)):
            assert cpu(found.usage(1)) == [3.0]
            assert cpu(found.window("avg", 0.0, 1)) == [1.0]
        assert cpu(found.usage(1)) == [8.0]


class TestTasks:
    USES = TaskUses(("a", "b", "c"), ("cpu", "unknown"), (1.0, 9.0, 2.0, 9.0, 3.0, 9.0), (True, False, True))

    def test_figures_of_many(self):
        found = TaskSamples(ResourceIndex())
        found.record_all(ints(70, 2), ints(2, 1), self.USES, 4)
        assert cpu(found.usage(ints(2, 70))) == [2.0, 3.0]
        assert found.stamp(ints(2, 70, 3)).tolist() == [4, 4, 0]
        assert found.prod(ints(2, 70)).tolist() == [False, True]
        found.record_all(ints(2), ints(0), TaskUses(("a",), ("cpu",), (8.0,), ()), 5)
        assert (cpu(found.usage(ints(2))), found.prod(ints(2)).tolist()) == ([8.0], [True])

    def test_figures_of_one(self):
        found = TaskSamples(ResourceIndex())
        found.record_all(ints(2), ints(1), self.USES, 4)
        found.record(2, {"cpu": 7.0}, 6)
        assert (cpu(found.usage(ints(2))), found.stamp(ints(2)).tolist()) == ([7.0], [6])
        assert found.prod(ints(2)).tolist() == [True]
        found.reset(2)
        assert found.stamp(ints(2)).tolist() == [0]


def test_a_table_of_use():
    table = UseTable(ResourceIndex())
    assert table.empty
    table.put(1, {"cpu": 2.0, "memory": 3.0})
    table.put(1, {"cpu": 4.0})
    assert table.values(2)[1].tolist() == [0.0, 4.0, 0.0, 0.0]
    assert (table.present(3).tolist(), table.empty) == ([False, True, False], False)
    table.copy_row(1, 0)
    table.clear(1)
    assert table.present(2).tolist() == [True, False]
    table.put_block(ints(0, 2), ["memory", "x"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert table.values(3)[[0, 2]].tolist() == [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 3.0, 0.0]]

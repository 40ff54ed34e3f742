"""Results of sweeps as tables, sentences, pages and columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from poseidon.simulate.sweep.presentation import best_rows, list_headings, sweep_lines, sweep_page, write_rows

PLAN: Any = SimpleNamespace(
    document=SimpleNamespace(
        grid={"cluster.pools[0].count": [2, 3], "workload.seed": [1]}, minimise=["nodes", "waitP90"]
    )
)


def row(run: int, count: int, nodes: Any, wait: Any, fault: str = "", **more: Any) -> dict[str, Any]:
    found = {"run": run, "cluster.pools[0].count": count, "workload.seed": 1, "fault": fault, **more}
    return {**found, "nodes": nodes, "waitP90": wait}


ROWS = [row(0, 2, 2, 300.0, seconds=1.25), row(1, 3, 12345.678, 90.0, seconds=2.5), row(2, 3, 99999, 400.0)]


def test_headings_are_settings_and_figures():
    assert list_headings(PLAN) == ("RUN", "pools[0].count", "seed", "nodes", "waitP90")


def test_only_runs_that_no_other_beats_are_shown():
    assert best_rows(PLAN, ROWS) == [("0", "2", "1", "2", "5m"), ("1", "3", "1", "12,346", "90s")]


def test_a_figure_that_is_missing_is_a_dash():
    [shown] = best_rows(PLAN, [row(0, 2, 2, None)])
    assert shown[-1] == "-"


def test_sentences_count_runs_time_and_faults():
    failed = [row(number, 2, 2, 1.0, f"fault {number}") for number in range(3, 9)]
    lines = sweep_lines(PLAN, ROWS)
    assert lines == [
        "3 runs; 2 not beaten by another in nodes, waitP90.",
        "They took 3.8 s of processor time.",
    ]
    assert sweep_lines(PLAN, [*ROWS, *failed])[2:] == [
        f"Run {number} failed: fault {number}" for number in range(3, 8)
    ]


def test_a_page_has_a_chart_for_each_setting_with_several_values():
    page = sweep_page(PLAN, ROWS, "My sweep")
    assert "My sweep" in page
    assert "nodes by cluster.pools[0].count" in page
    assert "waitP90 by cluster.pools[0].count" in page
    assert "by workload.seed" not in page
    assert "Runs that no other beats" in page


def test_columns_are_those_of_all_rows(tmp_path):
    write_rows([{"a": 1, "b": "x"}, {"a": 2, "c": 0.5}], tmp_path / "rows.parquet")
    found = pl.read_parquet(tmp_path / "rows.parquet")
    assert found.columns == ["a", "b", "c"]
    assert found.rows() == [(1, "x", None), (2, None, 0.5)]


@pytest.mark.parametrize(("name", "shown"), [("makespan", "2h"), ("waiting", "7,200"), ("waitP50", "2h")])
def test_times_are_shown_as_spans(name, shown):
    plan: Any = SimpleNamespace(document=SimpleNamespace(grid={}, minimise=[name]))
    assert best_rows(plan, [{"run": 0, "fault": "", name: 7200.0}]) == [("0", shown)]

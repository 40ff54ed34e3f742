"""What a report says is what happened."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from poseidon.cli import main
from poseidon.simulate.measurements import measure_fragmentation
from poseidon.simulate.presentation import format_span
from tests.poseidon.simulate.scenarios import kind, scenario, write


@given(
    free=arrays(np.int64, (4, 2), elements=st.integers(-2, 9)),
    requests=arrays(np.int64, (3, 2), elements=st.integers(0, 9)),
    weights=st.sampled_from([(1, 0, 0), (0.5, 0.25, 0.25), (0.2, 0.2, 0.6)]),
)
def test_fragmentation_is_what_a_task_drawn_from_the_work_cannot_use(
    free: np.ndarray, requests: np.ndarray, weights: tuple[float, ...]
) -> None:
    total = sum(max(int(node[0]), 0) for node in free)
    lost = 0.0
    for request, weight in zip(requests, weights, strict=True):
        for node in free:
            if any(node[k] < request[k] for k in range(2)):
                lost += weight * max(int(node[0]), 0)
    expected = lost / total if total else 0.0
    assert measure_fragmentation(free, requests, np.array(weights), 0) == pytest.approx(expected)


def test_the_command_shows_tables_writes_a_page_and_columns(tmp_path: Path) -> None:
    path = write(tmp_path, scenario(kind(), kind("hero", cpu=7, priority=5), horizon="1h"))
    page, columns = tmp_path / "report.html", tmp_path / "report.parquet"
    words = ["simulate", str(path), "--html", str(page), "--parquet", str(columns)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "hero" in result.stdout
    assert "1m" not in result.stdout.splitlines()[0]
    assert "without a certificate" in result.stdout
    assert "Simulation of scenario.yaml" in page.read_text(encoding="utf-8")
    told = json.loads(CliRunner().invoke(main, ["simulate", str(path), "-o", "json"]).stdout)
    frame = pl.read_parquet(columns)
    assert frame["seconds"].to_list() == told["curves"]["at"] == [600.0 * place for place in range(7)]
    assert frame["used_cpu"].to_list() == told["curves"]["utilisation"]["cpu"]
    every = told["waits"][-1]
    assert every["kind"] == "all"
    assert every["arrived"] == sum(each["arrived"] for each in told["waits"][:-1])
    assert every["placed"] + every["waiting"] >= every["arrived"] - every["evictions"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "0s"), (45.25, "45.2s"), (119, "119s"), (720, "12m"), (12_600, "3.5h")],
)
def test_spans_are_told_as_people_say_them(seconds: float | None, text: str) -> None:
    assert format_span(seconds) == text

"""Generators of Kueue's performance tests, simulated in both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.quality.kueue_generators import GeneratorOptions, find_optimum, measure_generators

SMALL = Path(__file__).with_name("small_generator.yaml")


def test_the_optimum_is_work_by_quota_of_the_busiest_cohort() -> None:
    document = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    assert find_optimum(document) == pytest.approx((6 * 0.5 * 0.5 + 3 * 1.0) / 8)
    sets = document["cohorts"][0]["queuesSets"][0]["workloadsSets"]
    busy = {"queuesSets": [{"nominalQuota": 1, "workloadsSets": sets}]}
    assert find_optimum({"cohorts": [*document["cohorts"], busy]}) == pytest.approx(3 * 0.5 * 0.5)


def test_both_ways_take_at_least_the_optimum() -> None:
    report = measure_generators(GeneratorOptions((SMALL,)), progress=lambda _: None)
    assert [run["mode"] for run in report["runs"]] == ["as Kueue", "unlimited"]
    for run in report["runs"]:
        assert run["left"] == 0
        assert run["makespan"] >= run["optimum"]
        assert run["waits"].keys() == {"large", "small"}


def test_writing_takes_its_time_as_in_kueue(tmp_path: Path) -> None:
    """600 admissions after a burst of 100, at 50 a second; without limits there is room for all at once."""
    document = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    small, _ = document["cohorts"][0]["queuesSets"]
    document["cohorts"][0]["queuesSets"] = [small | {"nominalQuota": "1000"}]
    small["workloadsSets"][0] |= {"count": 300, "creationIntervalMs": 1}
    (tmp_path / "generator.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    report = measure_generators(GeneratorOptions((tmp_path / "generator.yaml",)), progress=lambda _: None)
    limited, unlimited = report["runs"]
    assert limited["makespan"] == pytest.approx(10.5, abs=0.5)
    assert unlimited["makespan"] < 2.0
    assert {run["name"] for run in report["runs"]} == {tmp_path.name}


def test_what_does_not_end_is_said() -> None:
    report = measure_generators(GeneratorOptions((SMALL,), horizon=0.6), progress=lambda _: None)
    assert [run["makespan"] for run in report["runs"]] == [None, None]
    assert all(run["left"] for run in report["runs"])

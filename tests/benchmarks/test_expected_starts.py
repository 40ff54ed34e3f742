"""Expected starts are asked of few pods at many moments, and their errors counted as the documents say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.expected_starts.gpu_jobs import LONGEST, draw_gpu_jobs, write_gpu_jobs
from benchmarks.expected_starts.moments import Sample, choose_questions, choose_tasks, let_happen
from benchmarks.expected_starts.tables import expected_starts_sheets, find_coverage, find_error
from benchmarks.expected_starts.truth import Moment
from poseidon.simulate.scenario.document import Trace, check_scenario
from poseidon.simulate.setup import set_up
from poseidon.simulate.workloads.clusters import read_helios


def moment(now: float, waiting: list[int]) -> Moment:
    nothing = np.zeros(0)
    numbers = np.zeros(0, dtype=np.int64)
    return Moment(
        now, np.zeros(0, dtype=np.int8), numbers, nothing, nothing, np.array(waiting, dtype=np.int64)
    )


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 12), st.integers(0, 2**32))
def test_the_asked_pods_are_of_as_many_kinds_as_possible(kinds: list[int], most: int, seed: int) -> None:
    found = choose_tasks(
        np.arange(len(kinds)), np.array(kinds, dtype=np.int64), most, np.random.default_rng(seed)
    )
    assert len(set(found.tolist())) == len(found) == min(most, len(kinds))
    there, asked = (
        np.bincount(np.array(each, dtype=np.int64), minlength=5) for each in (kinds, np.array(kinds)[found])
    )
    for fewer in np.flatnonzero(asked < there):
        assert (asked <= asked[fewer] + 1).all(), "no kind has two more than one of which pods are left"


@given(st.lists(st.sets(st.integers(0, 20)), min_size=1, max_size=30), st.integers(1, 6), st.integers(1, 5))
def test_no_pod_is_asked_twice_and_moments_are_spread(
    waits: list[set[int]], moments: int, answers: int
) -> None:
    given_moments = [moment(900.0 * place, sorted(each)) for place, each in enumerate(waits)]
    found = choose_questions(
        given_moments, np.zeros(21, dtype=np.int64), Sample(moments, answers, (0, 1)), seed=1
    )
    assert len(found) <= moments
    asked = [task for each in found for task in each.asked.tolist()]
    assert len(set(asked)) == len(asked)
    busy = [each.now for each in given_moments if len(each.waiting)]
    if busy:
        assert found[0].moment.now == busy[0]
    for each in found:
        assert 1 <= len(each.asked) <= answers
        assert set(each.asked.tolist()) <= set(each.moment.waiting.tolist())


def test_drawn_pods_differ_by_seed() -> None:
    kinds = np.zeros(50, dtype=np.int64)
    drawn = {tuple(choose_tasks(np.arange(50), kinds, 5, np.random.default_rng(seed))) for seed in range(5)}
    assert len(drawn) == 5


def test_what_begins_only_when_nothing_comes_any_more_is_no_answer(tmp_path: Path) -> None:
    """Two jobs of the whole machine wait when asked; the second begins only after the last job has come."""
    jobs = [(0, 4000), (100, 4000), (200, 4000), (7000, 10)]
    lines = [
        f"{place} {came} -1 {run} 4 -1 -1 4 {run} -1 1 1 1 1 1 1 -1 -1"
        for place, (came, run) in enumerate(jobs)
    ]
    (tmp_path / "few.swf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kind = {"name": "job", "requests": {"cpu": 1}, "duration": {"mean": "1h"}}
    document = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "Simulation", "horizon": "24h", "roundEvery": "30s",
        "cluster": {"pools": [{"name": "node", "count": 2, "allocatable": {"cpu": 2, "memory": "4Gi"}}]},
        "workload": {"trace": {"format": "swf", "path": "few.swf", "kind": kind}},
    }  # fmt: skip
    simulation = set_up(check_scenario(document, "workload"), tmp_path)
    (question,) = let_happen(simulation, Sample(1, 10, (1, 1)), seed=1)
    begun = simulation.tasks.first_begun[question.asked].tolist()
    assert sorted(begun) == [-1.0, 4020.0]
    assert simulation.now < 7001.0


def test_the_table_has_errors_of_the_wait_and_coverage_by_cluster() -> None:
    def run(seed: int, pods: list[list[Any]]) -> dict[str, Any]:
        return {
            "workload": "one",
            "seed": seed,
            "hour": 8.0,
            "waiting": 9,
            "ahead": 1.0,
            "seconds": 2.0,
            "pods": pods,
            "later": seed,
        }

    early, late, never = (
        [60.0, 60.0, 50.0, 54.0, 58.0],
        [30.0, 90.0, 80.0, 102.0, None],
        [0.0, 60.0, None, None, None],
    )
    assert find_error(early) == -0.05
    assert find_error(late) == 0.1
    assert find_error(never) == np.inf
    assert find_coverage([early, late, never]) == 1 / 3
    assert find_coverage([[60.0, 60.0, 50.0, 54.0, 59.0]]) == 1.0, "a round may begin a second later"
    assert find_coverage([]) is None
    report = {
        "options": {"workloads": ["one", "two"]},
        "runs": [run(1, [early]), run(1, [late, late]), run(3, [])],
    }
    (sheet,) = expected_starts_sheets(report)
    assert sheet.rows == [
        ["one", "2", "3", "3", "5", "2", "10%", "+10%", "67%", "67, - %", "2.0"],
        ["two", "0", "0", "0", "0", *["-"] * 6],
    ]


def test_jobs_with_gpus_are_as_those_of_helios() -> None:
    gpus, runs = draw_gpu_jobs(100_000, 64, np.random.default_rng(1))
    assert np.median(gpus) == 1.0
    assert gpus.mean() == pytest.approx(3.7, rel=0.1)
    assert set(gpus.tolist()) == {2**power for power in range(7)}
    assert np.median(runs) == pytest.approx(206.0, rel=0.1)
    assert runs.max() == LONGEST
    assert np.median(runs[gpus == 64]) > 3.0 * np.median(runs[gpus == 1]), "large jobs run longer"
    assert draw_gpu_jobs(1000, 16, np.random.default_rng(1))[0].max() == 16


def test_the_written_jobs_fill_the_cluster_from_the_beginning(tmp_path: Path) -> None:
    path, horizon = tmp_path / "jobs.csv", 10 * 86400.0
    write_gpu_jobs(path, 32, 1.0, horizon, np.random.default_rng(2))
    work, nodes = read_helios(path, Trace(format="helios", path=path.name))
    assert not nodes
    first = work.arrival == work.arrival.min()
    held = sum(8.0 if "gpu-8" in work.templates[kind].name else 4.0 for kind in work.template[first].tolist())
    assert 0.5 < held / (32 * 8) < 2.0, "about as much as there is"
    assert work.arrival.max() - work.arrival.min() == pytest.approx(horizon, rel=0.02)
    assert {each.manifest["spec"]["restartPolicy"] for each in work.templates} == {"Never"}

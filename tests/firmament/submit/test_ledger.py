"""The books must find what a solver could do wrong."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.submit.report import summarise
from firmament.submit.submission_log import SubmissionLog
from firmament.submit.workload import GeneratedWorkload, Int64, WorkloadOptions, generate


def ints(*values: int) -> Int64:
    return np.array(values, dtype=np.int64)


@pytest.fixture
def workload() -> GeneratedWorkload:
    """Two machines with room for two tasks each."""
    return generate(WorkloadOptions(nodes=2, tasks=6, classes=1, cpu=(6400, 6400), memory=(1, 1)))


def test_a_lawful_placement(workload):
    ledger = SubmissionLog(workload)
    ledger.note_submitted(0, 6, 1.0)
    ledger.note_placed(ints(0, 1, 2), ints(0, 0, 1), 1.5)
    ledger.note_placed(ints(3), ints(1), 2.0)
    ledger.note_unscheduled([4, 5], "full")
    report = summarise(ledger, 2, complete=True)
    assert (report.placed, report.unplaced, report.overcommitted, report.duplicates) == (4, 2, 0, 0)
    assert report.unplaced_reasons == {"full": 2}
    assert report.seconds == pytest.approx(1.0)
    assert report.placements_per_second == pytest.approx(4.0)
    assert report.latency_p50_ms == pytest.approx(500.0)
    assert report.nodes_used == 2


def test_overcommitment_is_found_and_remembered(workload):
    ledger = SubmissionLog(workload)
    ledger.note_submitted(0, 6, 0.0)
    ledger.note_placed(ints(0, 1), ints(0, 0), 1.0)
    assert ledger.overcommitted.sum() == 0
    ledger.note_placed(ints(2), ints(0), 1.0)
    assert ledger.overcommitted.sum() == 1
    ledger.note_finished(ints(0, 1, 2))
    assert ledger.used.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert ledger.overcommitted.sum() == 1


def test_overcommitment_within_one_round_is_found(workload):
    ledger = SubmissionLog(workload)
    ledger.note_placed(ints(0, 1, 2), ints(1, 1, 1), 1.0)
    assert ledger.overcommitted.sum() == 1


def test_what_fills_a_machine_from_the_start_counts():
    workload = generate(
        WorkloadOptions(nodes=1, tasks=1, classes=1, cpu=(6400, 6400), memory=(1, 1), fill=1.0, seed=1)
    )
    ledger = SubmissionLog(workload)
    assert ledger.used[0, 0] >= 12_000
    ledger.note_placed(ints(0), ints(0), 1.0)
    assert ledger.overcommitted.sum() == 1


def test_a_task_placed_twice_is_found(workload):
    ledger = SubmissionLog(workload)
    ledger.note_placed(ints(0, 0), ints(0, 1), 1.0)
    ledger.note_placed(ints(0), ints(0), 2.0)
    assert ledger.duplicates == 2
    assert ledger.placed_count == 1
    assert ledger.used[:, 0].sum() == 6400


def test_room_that_was_freed_can_be_used_again(workload):
    ledger = SubmissionLog(workload)
    for task in range(0, 6, 2):
        ledger.note_placed(ints(task, task + 1), ints(0, 0), 1.0)
        ledger.note_finished(ints(task, task + 1))
    assert (ledger.overcommitted.sum(), ledger.placed_count, ledger.ended.sum()) == (0, 6, 6)


def test_nothing_happened(workload):
    report = summarise(SubmissionLog(workload), 2, complete=False)
    assert (report.placed, report.seconds, report.placements_per_second) == (0, 0.0, 0.0)
    assert report.latency_p99_ms is None

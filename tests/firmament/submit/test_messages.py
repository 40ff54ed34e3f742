"""The messages of a workload, field by field, and what is printed of a run."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from firmament.submit.messages import (
    BATCH_EVENTS,
    index_of,
    job_events,
    machine_name,
    sample_events,
    snapshot_events,
    split_events,
    task_events,
    task_uid,
)
from firmament.submit.report import SubmissionReport, print_table, summarise
from firmament.submit.submission_log import SubmissionLog
from firmament.submit.workload import MACHINE, MIB, GeneratedWorkload, Int64, WorkloadOptions, generate
from protos.firmament.v1 import scheduler_pb2 as pb


def ints(*values: int) -> Int64:
    return np.array(values, dtype=np.int64)


WORKLOAD = GeneratedWorkload(
    allocatable=np.array([[4000, 8, 10], [2000, 4, 5], [1000, 2, 3], [500, 1, 1]]),
    fill_level=ints(-1, 1, 0, -1),
    fill_requests=np.array([[100, 1, 1], [200, 2, 1]]),
    requests=np.array([[300, 3, 1], [400, 4, 1], [500, 5, 1]]),
    task_class=ints(0, 0, 1, 1, 1, 2),
    task_job=ints(0, 0, 1, 1, 1, 2),
    submit_at=np.zeros(6),
    lifetime=np.full(6, np.inf),
)


def amounts(quantities: object) -> dict[str, int]:
    return {each.resource: each.amount for each in quantities}  # type: ignore[attr-defined]


def test_names_and_indices():
    assert (machine_name(3), task_uid(12)) == ("machine-3", "task-12")
    assert (index_of("machine-3"), index_of("task-12")) == (3, 12)
    with pytest.raises(ValueError, match="invalid literal"):
        index_of("filler")


def test_a_snapshot_has_machines_classes_and_what_fills_machines():
    events = list(snapshot_events(WORKLOAD))
    machines = [each.machine for each in events if each.HasField("machine")]
    assert [each.name for each in machines] == [f"machine-{index}" for index in range(4)]
    assert amounts(machines[1].allocatable) == {"cpu": 2000, "memory": 4, "pods": 5}
    assert [each.labels["zone"] for each in machines] == ["zone-0", "zone-1", "zone-2", "zone-0"]
    classes = [each.task_class for each in events if each.HasField("task_class")]
    assert [(each.id, amounts(each.requests), each.runs_to_completion) for each in classes] == [
        (1, {"cpu": 300, "memory": 3}, True),
        (2, {"cpu": 400, "memory": 4}, True),
        (3, {"cpu": 500, "memory": 5}, True),
        (4, {"cpu": 100, "memory": 1}, True),
        (5, {"cpu": 200, "memory": 2}, True),
    ]
    bound = [each.bound for each in events if each.HasField("bound")]
    assert [(each.machine, each.task_class, list(each.uids)) for each in bound] == [
        ("machine-1", 5, ["filler-1"]),
        ("machine-2", 4, ["filler-2"]),
    ]
    assert len(events) == 4 + 5 + 2


def test_tasks_are_submitted_job_by_job():
    events = [each.tasks for each in task_events(WORKLOAD, 1, 5, 7.0)]
    assert [(each.job, each.task_class, list(each.uids), list(each.created)) for each in events] == [
        ("job-0", 1, ["task-1"], [7.0]),
        ("job-1", 2, ["task-2", "task-3", "task-4"], [7.0, 7.0, 7.0]),
    ]
    assert task_events(WORKLOAD, 2, 2, 7.0) == []


@pytest.mark.parametrize(
    ("first", "last", "jobs"),
    [
        (0, 6, [(0, 2), (1, 3), (2, 1)]),
        (1, 5, [(1, 3)]),
        (0, 3, [(0, 2), (1, 3)]),
        (2, 3, [(1, 3)]),
        (3, 5, []),
    ],
)
def test_a_job_is_defined_once_with_its_first_task(first: int, last: int, jobs: list[tuple[int, int]]):
    found = [each.job for each in job_events(WORKLOAD, first, last)]
    assert [(each.id, each.name, each.size) for each in found] == [
        (f"job-{job}", f"simulated/job-{job}", size) for job, size in jobs
    ]


def test_samples_are_shares_of_what_tasks_requested():
    used = np.array([[100, 10, 1], [200, 20, 2]])
    found = [each.machine_sample for each in sample_events([1, 0], used, np.array([0.5, 0.25]), 9.0)]
    assert [(each.machine, each.time, amounts(each.usage)) for each in found] == [
        ("machine-1", 9.0, {"cpu": 100.0, "memory": 10.0}),
        ("machine-0", 9.0, {"cpu": 25.0, "memory": 2.5}),
    ]


@pytest.mark.parametrize(
    ("count", "size", "sizes"), [(0, 2, []), (2, 2, [2]), (5, 2, [2, 2, 1]), (1001, BATCH_EVENTS, [1000, 1])]
)
def test_events_are_split_into_batches(count: int, size: int, sizes: list[int]):
    events = [pb.Event(task_removed=str(number)) for number in range(count)]
    batches = list(split_events(iter(events), size))
    assert [len(each) for each in batches] == sizes
    assert [event for batch in batches for event in batch] == events


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_defaults_of_a_workload():
    made = generate(WorkloadOptions(nodes=2, tasks=250))
    assert made.allocatable.tolist() == [[16_000, 64 * 1024 * MIB, 110]] * 2 == [list(MACHINE)] * 2
    assert made.fill_level.tolist() == [-1, -1]
    assert made.requests.shape == (10, 3)
    assert ((made.requests[:, 0] >= 100) & (made.requests[:, 0] <= 500)).all()
    assert ((made.requests[:, 1] >= 64 * MIB) & (made.requests[:, 1] <= 512 * MIB)).all()
    assert (made.requests[:, 1] % MIB == 0).all()
    assert (made.requests[:, 2] == 1).all()
    assert made.task_class.tolist() == (made.task_job % 10).tolist()
    assert made.fill_requests[[0, 19]].tolist() == [
        [800, 64 * 1024 * MIB // 20, 1], [16_000, 64 * 1024 * MIB, 1],
    ]  # fmt: skip


def test_levels_of_machines_that_are_filled_are_clipped():
    full = generate(WorkloadOptions(nodes=200, tasks=1, fill=1.0)).fill_level
    assert (full.min() >= 14, full.max()) == (True, 19)
    little = generate(WorkloadOptions(nodes=200, tasks=1, fill=0.01)).fill_level
    assert (little.min(), little.max() <= 4) == (-1, True)


def test_tasks_come_at_the_rate():
    made = generate(WorkloadOptions(nodes=1, tasks=5, rate=4.0))
    assert made.submit_at.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


# --- what is printed --------------------------------------------------------------------------------------------------


def shown(report: SubmissionReport) -> str:
    out = io.StringIO()
    print_table(report, Console(file=out, width=120))
    return out.getvalue()


def test_the_report_of_a_run():
    log = SubmissionLog(WORKLOAD)
    log.rounds = 3
    log.note_submitted(0, 6, 1.0)
    log.note_placed(ints(0, 1), ints(0, 0), 1.5)
    log.note_placed(ints(2), ints(0), 3.0)
    log.note_finished(ints(2))
    log.note_unscheduled([3], "a")
    log.note_unscheduled([4, 5], "b")
    log.note_unscheduled([0], "placed")
    report = summarise(log, 4, complete=True)
    assert (report.nodes, report.tasks, report.placed, report.unplaced, report.finished) == (4, 6, 3, 3, 1)
    assert (report.rounds, report.seconds, report.placements_per_second) == (3, 2.0, 1.5)
    assert report.latency_p50_ms == 500.0
    assert report.latency_p90_ms == pytest.approx(1700.0)
    assert report.latency_p99_ms == pytest.approx(1970.0)
    assert (report.nodes_used, report.overcommitted, report.duplicates, report.complete) == (1, 1, 0, True)
    assert report.unplaced_reasons == {"a": 1, "b": 2}
    lines = [" ".join(line.replace("│", " ").split()) for line in shown(report).splitlines()]
    for line in (
        "machines 4", "tasks submitted 6", "tasks placed 3", "tasks unplaced 3", "tasks finished 1", "rounds 3",
        "seconds, first submission to last delta 2.000", "placements per second 2",
        "latency p50 / p90 / p99 500.0 / 1700.0 / 1970.0 ms", "machines used 1", "machines overcommitted 1",
    ):  # fmt: skip
        assert line in lines
    assert lines[-2:] == ["2 unplaced: b", "1 unplaced: a"]


def test_a_run_without_placements_and_one_that_was_stopped():
    log = SubmissionLog(WORKLOAD)
    for task in range(6):
        log.note_unscheduled([task], f"[bold]{task}")
    text = shown(summarise(log, 4, complete=False))
    assert "- / - / - ms" in text
    assert "1 unplaced: [bold]4" in text
    assert "[bold]5" not in text, "five reasons are shown"
    assert text.endswith("Stopped at the time-out, before every task had an answer.\n")
    assert "Stopped" not in shown(summarise(log, 4, complete=True))


def test_answers_that_are_out_of_date_are_dropped():
    log = SubmissionLog(WORKLOAD)
    log.note_submitted(0, 6, 1.0)
    log.note_unscheduled([0, 1], "full")
    log.note_unscheduled([1], "fuller")
    assert (log.unscheduled_count, log.reasons()) == (2, {"full": 1, "fuller": 1})
    log.note_placed(ints(0), ints(0), 2.0)
    assert (log.unscheduled_count, log.reasons()) == (1, {"fuller": 1})
    assert (log.submitted_count, log.placed_count) == (6, 1)
    assert log.hosts.tolist() == [True, False, False, False]
    assert log.used.tolist() == [[300, 3, 1], [200, 2, 1], [100, 1, 1], [0, 0, 0]]

"""What ``firmament submit`` makes of its options, before it asks anybody."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from firmament.cli import main
from firmament.commands.submit import RangeType, _task_count
from firmament.submit.client import SubmitOptions, TargetError
from firmament.submit.report import SubmissionReport
from firmament.submit.workload import WorkloadOptions

CPU, MEMORY, SIZES = RangeType(("m",)), RangeType(("Ki", "Mi", "Gi", "Ti")), RangeType()


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (SIZES, "10-100", (10, 100)),
        (SIZES, "7", (7, 7)),
        (SIZES, "1-1", (1, 1)),
        (CPU, "100m-500m", (100, 500)),
        (CPU, "3", (3, 3)),
        (MEMORY, "1Ki-2Mi", (1024, 2 * 2**20)),
        (MEMORY, "1Gi-1Ti", (2**30, 2**40)),
        (MEMORY, "5", (5, 5)),
    ],
)
def test_ranges(kind: RangeType, text: str, expected: tuple[int, int]):
    assert kind.convert(text, None, None) == expected
    assert kind.convert(expected, None, None) is expected


@pytest.mark.parametrize(
    ("kind", "text", "example"),
    [
        (SIZES, "0-5", "such as 10-100"),
        (SIZES, "5-4", "such as 10-100"),
        (SIZES, "-5", "such as 10-100"),
        (SIZES, "5m", "such as 10-100"),
        (CPU, "5Ki", "such as 100m-500m"),
        (CPU, "", "such as 100m-500m"),
        (MEMORY, "5m", "such as 100Ki-500Ki"),
        (MEMORY, "1" * 16, "such as 100Ki-500Ki"),
        (MEMORY, "1.5Gi", "such as 100Ki-500Ki"),
    ],
)
def test_what_is_no_range(kind: RangeType, text: str, example: str):
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(text, None, None)
    assert refused.value.message == f"{text!r} is not a range; write MIN-MAX, {example}"


@pytest.mark.parametrize(
    ("tasks", "rate", "duration", "expected"),
    [
        (5, None, None, 5),
        (5, 2.0, None, 5),
        (5, 2.0, 2.0, 4),
        (3, 2.0, 2.0, 3),
        (None, 2.0, 10.0, 20),
        (None, 0.1, 1.0, 1),
        (0, None, None, 0),
    ],
)
def test_how_many_tasks(tasks: int | None, rate: float | None, duration: float | None, expected: int):
    assert _task_count(tasks, rate, duration) == expected


@pytest.mark.parametrize(
    ("tasks", "rate", "duration", "message"),
    [
        (5, None, 2.0, "--duration needs --rate; give both, or --tasks alone"),
        (None, None, None, "say how many tasks: give --tasks, or --rate with --duration"),
        (None, 2.0, None, "say how many tasks: give --tasks, or --rate with --duration"),
    ],
)
def test_options_that_do_not_say_how_many(
    tasks: int | None, rate: float | None, duration: float | None, message: str
):
    with pytest.raises(click.UsageError) as refused:
        _task_count(tasks, rate, duration)
    assert refused.value.message == message


def submit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["submit", *arguments])


def test_an_address_that_is_none_is_refused():
    done = submit("--nodes", "1", "--tasks", "1", "--target", "nowhere")
    assert (done.exit_code, done.stderr) == (2, "--target: 'nowhere' is not an address; write HOST:PORT\n")


def test_nobody_answers():
    done = submit("--nodes", "1", "--tasks", "1", "--target", "127.0.0.1:1", "--connect-timeout", "0.05")
    assert done.exit_code == 1
    assert done.stderr.startswith("127.0.0.1:1: no solver answers there; start one with `firmament serve`")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nodes", "-1"),
        ("--tasks", "-1"),
        ("--classes", "0"),
        ("--rate", "0"),
        ("--fill", "1.1"),
        ("--timeout", "0"),
    ],
    ids=" ".join,
)
def test_numbers_out_of_range_are_refused(arguments: tuple[str, ...]):
    done = submit("--nodes", "1", "--tasks", "1", *arguments)
    assert done.exit_code == 2
    assert f"Invalid value for '{arguments[0]}'" in done.stderr


REPORT = SubmissionReport(
    nodes=1,
    tasks=4,
    placed=3,
    unplaced=1,
    finished=2,
    rounds=5,
    seconds=0.5,
    placements_per_second=6.0,
    latency_p50_ms=1.0,
    latency_p90_ms=None,
    latency_p99_ms=2.0,
    nodes_used=1,
    overcommitted=0,
    duplicates=0,
    complete=True,
    unplaced_reasons={"no room": 1},
)


class TestRuns:
    """What the command does with what a run comes to."""

    def run(
        self, monkeypatch: pytest.MonkeyPatch, outcome: SubmissionReport | BaseException, *arguments: str
    ) -> tuple[Result, list[Any]]:
        """Run the command with a client that comes to ``outcome``; also what the client was told."""
        told: list[Any] = []

        async def run(
            workload: WorkloadOptions, settings: SubmitOptions, console: Console
        ) -> SubmissionReport:
            told.extend((workload, settings, console.stderr))
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("firmament.commands.submit._run", run)
        return submit("--nodes", "7", "--target", "127.0.0.1:1", *arguments), told

    @pytest.mark.parametrize(("complete", "code"), [(True, 0), (False, 1)])
    def test_the_report_is_printed_as_json_and_a_run_that_stopped_fails(
        self, monkeypatch: pytest.MonkeyPatch, complete: bool, code: int
    ):
        outcome = replace(REPORT, complete=complete)
        done, _ = self.run(monkeypatch, outcome, "--tasks", "4", "--output", "json")
        assert done.exit_code == code
        assert json.loads(done.stdout) == asdict(outcome)

    def test_the_report_is_a_table_unless_told_otherwise(self, monkeypatch: pytest.MonkeyPatch):
        done, _ = self.run(monkeypatch, REPORT, "--tasks", "4")
        assert done.exit_code == 0
        assert "tasks unplaced" in done.stdout
        assert "1 unplaced: no room" in done.stdout

    def test_the_client_is_told_the_options(self, monkeypatch: pytest.MonkeyPatch):
        arguments = "--rate 10 --duration 3 --tasks 99 --seed 5 --no-samples --timeout 9 --connect-timeout 2"
        _, (workload, settings, to_stderr) = self.run(
            monkeypatch, REPORT, *arguments.split(), "--cluster", "c", "--fill", "0.5", "--cpu", "100m-200m"
        )
        assert (workload.tasks, workload.nodes, workload.seed, workload.rate) == (30, 7, 5, 10.0)
        assert (workload.fill, workload.cpu, workload.sizes, workload.classes) == (
            0.5,
            (100, 200),
            (10, 100),
            10,
        )
        assert (settings.target, settings.cluster, settings.samples, settings.seed) == (
            "127.0.0.1:1",
            "c",
            False,
            5,
        )
        assert (settings.connect_seconds, settings.timeout) == (2.0, 9.0)
        assert to_stderr, "progress is not a part of the output"

    def test_defaults(self, monkeypatch: pytest.MonkeyPatch):
        _, (workload, settings, _) = self.run(monkeypatch, REPORT, "--tasks", "4")
        assert (workload.tasks, workload.seed, workload.rate, workload.fill) == (4, 0, None, 0.0)
        assert (workload.cpu, workload.memory) == ((100, 500), (64 * 2**20, 512 * 2**20))
        assert (settings.cluster, settings.samples) == ("simulated", True)
        assert (settings.connect_seconds, settings.timeout) == (5.0, 300.0)

    @pytest.mark.parametrize(
        ("fault", "code", "said"),
        [(TargetError("it is gone"), 1, "it is gone"), (KeyboardInterrupt(), 130, "interrupted")],
    )
    def test_what_ends_a_run_is_said_in_a_line(
        self, monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int, said: str
    ):
        done, _ = self.run(monkeypatch, fault, "--tasks", "4")
        assert (done.exit_code, done.stderr, done.stdout) == (code, f"{said}\n", "")

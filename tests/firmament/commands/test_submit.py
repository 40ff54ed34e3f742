"""What ``firmament submit`` makes of its options, before it asks anybody."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner, Result

from firmament.cli import main
from firmament.commands.submit import RangeType, _task_count

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

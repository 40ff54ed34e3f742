"""How the harness's commands end when they are used wrongly or interrupted."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from protos.conventions.command_line import OneLineCommand


@pytest.mark.parametrize("arguments", [["run", "--nonsense"], ["nonsense"], ["optimum", "--instances", "0"]])
def test_bad_usage_is_one_line(arguments):
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("benchmarks")
    assert done.stderr.count("\n") == 1


def test_an_interruption_is_told_by_the_status():
    @click.command("forever", cls=OneLineCommand)
    def forever() -> None:
        raise KeyboardInterrupt

    done = CliRunner().invoke(forever)
    assert (done.exit_code, done.stderr.split()) == (130, ["interrupted"])

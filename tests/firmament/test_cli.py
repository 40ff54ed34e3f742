"""The ``firmament`` command lists its sub-commands, with help from a module that need not be imported for it."""

from __future__ import annotations

import runpy

import pytest
from click.testing import CliRunner

import firmament
from firmament.cli import main

COMMANDS = ["completion", "delete", "draw", "explain", "export-network", "get", "replay", "serve", "submit"]


def test_all_commands_are_listed_and_can_be_asked_for_help():
    for option in ("-h", "--help"):
        done = CliRunner().invoke(main, [option])
        assert done.exit_code == 0
        assert done.output.startswith("Usage: firmament [OPTIONS] COMMAND")
        listed = done.output.partition("Commands:")[2].split("\n")
        assert [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "] == COMMANDS
    for command in COMMANDS:
        assert CliRunner().invoke(main, [command, "-h"]).exit_code == 0


def test_the_version_is_told():
    assert CliRunner().invoke(main, ["--version"]).output == f"firmament, version {firmament.__version__}\n"


def test_defaults_are_shown():
    shown = " ".join(CliRunner().invoke(main, ["serve", "-h"]).output.split())
    assert "[default: 127.0.0.1:9090]" in shown


def test_the_package_runs_as_a_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", ["firmament", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("firmament", run_name="__main__")
    assert ended.value.code == 0
    assert firmament.__version__ in capsys.readouterr().out

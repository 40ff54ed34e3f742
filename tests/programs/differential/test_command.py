"""The command that runs many cases, shows one, and plays histories."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.programs.differential.__main__ import main

pytestmark = pytest.mark.full


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_table():
    text = run("--seeds", "4", "--size", "small", "--size", "wide", "--orders", "2")
    assert "faulty" in text
    assert "wide" in text


def test_json():
    (small,) = json.loads(
        run("--seeds", "5", "--size", "small", "--manner", "three priorities", "-o", "json")
    )
    assert small["cases"] == 5
    assert small["faulty"] == []
    assert 0 < small["placed"] <= small["best"] <= small["pods"]


def test_workers_do_not_change_what_is_found():
    alone, shared = (
        json.loads(run("--seeds", "4", "--size", "small", "--workers", workers, "-o", "json"))[0]
        for workers in ("1", "2")
    )
    assert {**alone, "seconds": 0} == {**shared, "seconds": 0}


@pytest.mark.parametrize(("size", "text"), [("small", "best possible"), ("wide", "pod by pod: median")])
def test_one_case_in_full(size: str, text: str):
    shown = run("--case", "3", "--size", size, "--orders", "2")
    assert text in shown
    assert "node node-00" in shown


def test_histories():
    assert "2 histories" in run("--histories", "2")

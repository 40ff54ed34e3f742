"""Tests wait for conditions: whoever sleeps is named here, with what makes that harmless."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SLEEPERS = {
    "deploy/test_rights_in_use.py": "the pause between nodes that come, while a condition is waited for",
    "poseidon/agents/test_netperf_probe.py": "a delay that is measured",
    "poseidon/bridge/test_session.py": "a solver that says something again and again, for longer than it may be silent",
    "poseidon/kube/write/test_write_behind.py": "the pause between writes, while a condition is waited for",
    "poseidon/ui/browser/fixture_server.py": "a tool beside the tests: the pause between changes",
    "poseidon/ui/browser/large_cluster.py": "a tool beside the tests",
    "poseidon/ui/browser/measure.py": "a tool beside the tests",
    "poseidon/ui/browser/running_pair.py": "before a picture is taken that nobody compares",
    "poseidon/ui/test_live.py": "an injected sleep, which is shorter",
    "programs/end_to_end/test_idle_stream.py": "a time in which nothing is sent; a longer one is as good",
    "programs/end_to_end/test_rotation.py": "the pause between pods that come",
    "programs/end_to_end/test_sharing.py": "the pace of another scheduler",
    "support/pod_way.py": "the last message has been taken, and is dealt with in a few turns",
    "support/waiting.py": "a condition is waited for",
}
"""Files that sleep: nothing in them fails because a sleep was too short or too long."""


def sleeps(source: str) -> list[int]:
    """Lines that sleep for longer than a turn of the event loop."""
    return [
        each.lineno
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.Call)
        and (each.func.attr if isinstance(each.func, ast.Attribute) else getattr(each.func, "id", ""))
        == "sleep"
        and not (each.args and isinstance(each.args[0], ast.Constant) and each.args[0].value == 0)
    ]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("asyncio.sleep(0)", []),
        ("await asyncio.sleep(0.1)", [1]),
        ("x = 1\nsleep(seconds)", [2]),
        ("until(lambda: sleep)", []),
    ],
)
def test_what_sleeps_is_found(source: str, lines: list[int]):
    assert sleeps(source) == lines


def test_who_sleeps_is_named_and_nobody_else():
    found = {
        file.relative_to(TESTS).as_posix(): lines
        for file in sorted(TESTS.rglob("*.py"))
        if "sleep" in (text := file.read_text(encoding="utf-8")) and (lines := sleeps(text))
    }
    assert sorted(found.keys() - SLEEPERS.keys()) == [], "wait with tests/support/waiting.py"
    assert sorted(SLEEPERS.keys() - found.keys()) == [], "they sleep no longer"

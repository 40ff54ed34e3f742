"""The verdicts, as ``poseidon plan`` gives them."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.conftest import run, write
from tests.programs.newer_features.cases import CASES, as_ours

__all__ = ["run", "write"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict(run, write, case):
    file = write(*map(as_ours, case.objects))
    answer = run("plan", "-f", file, "-o", "json", "--scheduler-name", "poseidon").json
    bound = {each["pod"].removeprefix("shop/"): each["node"] for each in answer["bindings"]}
    pending = {each["pod"].removeprefix("shop/"): each["reason"] for each in answer["pending"]}
    assert bound.keys() == case.bound.keys()
    assert all(node in case.bound[name].split() for name, node in bound.items())
    assert pending.keys() == case.pending.keys()
    assert all(reason.startswith(case.pending[name]) for name, reason in pending.items())

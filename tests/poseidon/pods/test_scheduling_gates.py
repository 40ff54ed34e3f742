"""Pods with scheduling gates: nobody schedules them, and a sentence says so."""

from __future__ import annotations

from poseidon.pods.scheduling_gates import describe_gates, is_gated
from tests.poseidon.pods.test_tasks import pod


def test_gates_are_named():
    assert describe_gates(pod()) == ""
    assert not is_gated(pod())
    found = pod(schedulingGates=[{"name": "a"}, {"name": "b"}])
    assert describe_gates(found) == "Nobody schedules it before its scheduling gates are gone: a, b."
    assert is_gated(found)

"""Rounds of a cluster in motion: what happened before and meanwhile counts, and what becomes possible is noticed."""

from __future__ import annotations

import pytest

from tests.programs.differential.generate import WIDE
from tests.programs.differential.history import History
from tests.support.effort import examples

HISTORIES, ROUNDS = 5, 6


@pytest.mark.parametrize("during", [False, True], ids=["between", "during"])
@pytest.mark.parametrize("block", range(examples(4, least=1)))
def test_rounds_with_events(block: int, during: bool):
    for seed in range(block * HISTORIES, (block + 1) * HISTORIES):
        faults = History(seed, WIDE).play(ROUNDS, during=during)
        assert faults == [], f"history {seed}"


@pytest.mark.full
def test_a_history_sees_much():
    """Bindings that fail, pods and nodes that come and go: what the tests above rely on."""
    history = History(5, WIDE)
    seen: set[str] = set()
    for _ in range(40):
        before = (set(history.cluster.nodes), set(history.cluster.pods), set(history.waiting))
        history.round()
        seen.add("a binding failed" if history.rests else "")
        for _ in range(3):
            history.happen()
        after = (set(history.cluster.nodes), set(history.cluster.pods), set(history.waiting))
        for what, then, now in zip(("node", "pod", "waiting pod"), before, after, strict=True):
            seen.update([f"{what} came"] if now - then else [])
            seen.update([f"{what} went"] if then - now else [])
        seen.update("a pod ends" for pod in history.cluster.pods.values() if pod.terminating)
        seen.update(
            "a pod lost its node" for pod in history.cluster.pods.values() if pod.node not in after[0]
        )
    assert seen - {""} == {
        "a binding failed",
        "node came",
        "node went",
        "pod came",
        "pod went",
        "waiting pod came",
        "waiting pod went",
        "a pod ends",
        "a pod lost its node",
    }

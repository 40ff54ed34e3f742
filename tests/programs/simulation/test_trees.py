"""Histories in which users create trees of groups, too: no part of a tree, or of a group in it, is ever begun alone."""

from __future__ import annotations

import pytest

from tests.programs.simulation.history import run
from tests.support.effort import examples

STEPS = 1000
HISTORIES = examples(100, 2, slow=True)


@pytest.mark.parametrize("part", range(2))
def test_what_must_hold_does(part):
    for seed in range(part, HISTORIES, 2):
        outcome = run(30_000 + seed, STEPS, ["kill_bridge", "kill_solver"], trees=True)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {30_000 + seed}: {outcome.violation}\n{story}"
        assert outcome.bindings


def test_trees_share_a_cluster_with_queues():
    bindings = 0
    for seed in range(examples(40, 1, slow=True)):
        outcome = run(40_000 + seed, STEPS, queued=True, trees=True)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {40_000 + seed}: {outcome.violation}\n{story}"
        bindings += outcome.bindings
    assert bindings

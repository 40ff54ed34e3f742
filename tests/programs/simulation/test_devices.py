"""Histories in which pods claim devices, too: none is given twice or lost, and no pod is bound without its own."""

from __future__ import annotations

import pytest

from tests.programs.simulation.history import run
from tests.support.effort import examples

STEPS = 1000
HISTORIES = examples(100, 4, slow=True)


@pytest.mark.parametrize("part", range(2))
def test_what_must_hold_does(part):
    allocations = 0
    for seed in range(part, HISTORIES, 2):
        outcome = run(50_000 + seed, STEPS, ["kill_bridge", "kill_solver"], devices=True)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {50_000 + seed}: {outcome.violation}\n{story}"
        allocations += outcome.allocations
    assert allocations > 4, "too few claims get devices for the histories to say anything"

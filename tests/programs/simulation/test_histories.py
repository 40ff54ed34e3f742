"""Histories with faults: what must hold holds after each step, and a seed tells the same story twice."""

from __future__ import annotations

from functools import cache

import pytest

from tests.programs.simulation.history import Outcome, run
from tests.support.effort import examples

STEPS = 1000
HISTORIES = examples(80, 4, slow=True)
PARTS = 4


@cache
def told(seed: int) -> Outcome:
    """A history, which two tests look at."""
    return run(seed, STEPS)


@pytest.mark.parametrize("part", range(PARTS))
def test_what_must_hold_does(part):
    for seed in range(part, HISTORIES, PARTS):
        outcome = told(seed)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {seed}: {outcome.violation}\n{story}"


def test_something_happens():
    outcomes = [told(seed) for seed in range(HISTORIES)]
    assert sum(each.bindings for each in outcomes) > 12 * HISTORIES
    assert any(each.evictions for each in outcomes)
    assert all(each.steps > STEPS and each.seconds > 200 for each in outcomes)


def test_a_seed_is_a_story():
    first, again, other = run(3, 300), run(3, 300), run(4, 300)
    assert (first.digest, first.steps) == (again.digest, again.steps)
    assert first.digest != other.digest

"""Histories with queues of Kueue, suspended Jobs and all faults: no quota is exceeded, no Job resumed without places
for all of its pods, and after the faults all run that can.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.programs.simulation.history import Outcome, run
from tests.support.effort import examples

pytestmark = pytest.mark.usefixtures("forked_programs")

STEPS = examples(2500, 1200)
HISTORIES = examples(60, 3, slow=True)
PARTS = 2
FIRST = 30_000


@cache
def told(seed: int) -> Outcome:
    """A history, which two tests look at."""
    return run(FIRST + seed, STEPS, queued=True)


@pytest.mark.parametrize("part", range(PARTS))
def test_what_must_hold_does(part):
    for seed in range(part, HISTORIES, PARTS):
        outcome = told(seed)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {FIRST + seed}: {outcome.violation}\n{story}"


def test_jobs_are_resumed_and_bound():
    outcomes = [told(seed) for seed in range(HISTORIES)]
    assert sum(each.bindings for each in outcomes) > 15 * HISTORIES
    assert sum(each.resumptions for each in outcomes) >= HISTORIES // 3

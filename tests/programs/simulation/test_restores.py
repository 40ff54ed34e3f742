"""An API server that comes back from a copy of its state, at random moments and beside other faults.

Pods that were bound since are not bound then, and pods that came since are not there: nothing is lost or bound twice by
that history, no node is overfilled, and all go on.
"""

from __future__ import annotations

import pytest

from tests.programs.simulation.history import History, ViolationError, run, simulated
from tests.support.effort import examples

HISTORIES = examples(40, 2, slow=True)
STEPS = 1000
GOES_ON_WITHIN = 15.0


@pytest.mark.parametrize("part", range(2))
def test_what_must_hold_does(part):
    for seed in range(part, HISTORIES, 2):
        outcome = run(10_000 + seed, STEPS, ["restore_server"])
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {10_000 + seed}: {outcome.violation}\n{story}"


@pytest.mark.parametrize("seed", range(examples(4, 2)))
def test_all_is_bound_within_the_stated_time(seed):
    history = History(20_000 + seed)
    with simulated(history):
        try:
            history.run_restored(400, GOES_ON_WITHIN)
        except ViolationError as violation:
            story = "\n".join([*history.queue.story][-60:])
            pytest.fail(f"seed {20_000 + seed}: {violation}\n{story}")
    assert any("goes back" in line for line in history.queue.story)

"""Histories in which gangs restart, with room kept meanwhile: all find places in the end, and no room stays."""

from __future__ import annotations

import pytest

from tests.programs.simulation.history import run
from tests.support.effort import examples

STEPS = 1000
HISTORIES = examples(100, 4, slow=True)


@pytest.mark.parametrize("part", range(2))
def test_what_must_hold_does(part):
    rooms = 0
    for seed in range(part, HISTORIES, 2):
        outcome = run(60_000 + seed, STEPS, ["kill_bridge", "kill_solver"], restarts=True)
        story = "\n".join(outcome.story[-60:])
        assert not outcome.violation, f"seed {60_000 + seed}: {outcome.violation}\n{story}"
        rooms += outcome.rooms
    assert rooms > 10, "too little room is kept for the histories to say anything"

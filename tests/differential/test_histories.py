"""Rounds of a cluster in motion: what happened before and meanwhile counts, and what becomes possible is noticed."""

from __future__ import annotations

import pytest

from tests.differential.generate import WIDE
from tests.differential.history import History

HISTORIES, ROUNDS = 12, 6


@pytest.mark.parametrize("block", range(4))
def test_rounds_with_events_between(block: int):
    for seed in range(block * HISTORIES, (block + 1) * HISTORIES):
        history = History(seed, WIDE)
        for number in range(ROUNDS):
            where = f"history {seed}, round {number}"
            if history.neglected():
                assert history.scheduler.next_round_in() == 0, f"{where}: no round is asked for"
            outcome = history.round()
            rested = {f"{uid}:" for uid in history.rests}
            faults = [fault for fault in outcome.faults if fault.split()[0] not in rested]
            assert [fault for fault in faults if "left behind" not in fault] == [], where
            assert history.neglected() == [], where
            assert history.settle() == [], where
            assert history.neglected() == [], where
            for _ in range(history.draw.randint(1, 4)):
                history.happen()


@pytest.mark.parametrize("block", range(4))
def test_rounds_with_events_while_they_are_solved(block: int):
    for seed in range(block * HISTORIES, (block + 1) * HISTORIES):
        history = History(seed, WIDE)
        for number in range(ROUNDS):
            where = f"history {seed}, round {number}"
            outcome = history.round(meanwhile=history.draw.randint(1, 4))
            assert [fault for fault in outcome.faults if "left behind" not in fault] == [], where
            if history.neglected():
                assert history.scheduler.next_round_in() == 0, f"{where}: no round is asked for"
            assert history.settle() == [], where
            assert history.neglected() == [], where

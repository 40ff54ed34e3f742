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
            asked_for_if_needed(history, where)
            outcome = history.round()
            assert (outcome.faults, outcome.left) == ((), ()), where
            asked_for_if_needed(history, where)
            at_rest(history, where)
            for _ in range(history.draw.randint(1, 4)):
                history.happen()


@pytest.mark.parametrize("block", range(4))
def test_rounds_with_events_while_they_are_solved(block: int):
    for seed in range(block * HISTORIES, (block + 1) * HISTORIES):
        history = History(seed, WIDE)
        for number in range(ROUNDS):
            where = f"history {seed}, round {number}"
            outcome = history.round(meanwhile=history.draw.randint(1, 4))
            assert outcome.faults == (), where
            asked_for_if_needed(history, where)
            at_rest(history, where)


def asked_for_if_needed(history: History, where: str) -> None:
    if history.neglected():
        assert history.scheduler.next_round_in() == 0, f"{where}: no round is asked for"


def at_rest(history: History, where: str) -> None:
    """Once the core asks for no further round, nothing that could be placed waits."""
    assert history.settle() == [], where
    assert history.neglected() == [], where

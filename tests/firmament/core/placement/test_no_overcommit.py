"""No sequence of events and rounds overcommits a machine, breaks a rule or places a task twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from firmament.core.configuration import RoundOptions
from tests.support.effort import examples
from tests.support.histories.pair import Pair
from tests.support.histories.strategies import History, histories


@settings(max_examples=examples(150, slow=True))
@given(histories(windows=False))
def test_rounds_between_events(history: History):
    Pair().run(history)


@settings(max_examples=examples(200, slow=True))
@given(histories(windows=True))
def test_events_while_a_round_is_solved(history: History):
    Pair().run(history)


@settings(max_examples=examples(60))
@given(histories(windows=True))
def test_with_places_reserved_at_once(history: History):
    Pair(RoundOptions(reserve_after_rounds=1, reserve_after=0.0, reserve_for_rounds=2)).run(history)


@pytest.mark.parametrize("seed", [0, 1])
@settings(max_examples=examples(30))
@given(history=histories(windows=True))
def test_with_a_policy_that_prefers_nothing(history: History, seed: int):
    Pair(RoundOptions(seed=seed), policy="trivial").run(history)

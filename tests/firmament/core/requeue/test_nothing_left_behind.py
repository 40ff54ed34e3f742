"""After a round nothing that may be tried stays pending while a machine would take it; and no round is run in vain."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from tests.support.histories.pair import NO_RESERVATIONS, Pair
from tests.support.histories.strategies import History, Round, crowds, definitions, histories


def left_behind(both: Pair) -> list[str]:
    """Tasks that wait although a machine would take them."""
    return [uid for uid in both.oracle.waiting(both.now) if both.oracle.fits_somewhere(uid)]


@settings(max_examples=examples(150, slow=True))
@given(st.one_of(crowds(), histories(windows=False)))
def test_every_round_is_maximal(history: History):
    both = Pair(NO_RESERVATIONS)
    both.step(definitions(history.classes))
    for step in history.steps:
        both.step(step)
        if isinstance(step, Round):
            assert left_behind(both) == []
            assert both.scheduler.next_round_in() != 0, "a round with nothing to gain is asked for"
        elif left_behind(both):
            assert both.scheduler.next_round_in() == 0, "a task would fit, but no round is asked for"
            both.round()
            assert left_behind(both) == []


@settings(max_examples=examples(150, slow=True))
@given(histories(windows=True))
def test_what_happens_during_a_round_is_made_up_for(history: History):
    both = Pair(NO_RESERVATIONS)
    both.step(definitions(history.classes))
    for step in history.steps:
        both.step(step)
        if left_behind(both):
            assert both.scheduler.next_round_in() == 0
    both.settle()
    assert left_behind(both) == []


@settings(max_examples=examples(60))
@given(histories(windows=True))
def test_rest_is_reached_and_lasts(history: History):
    both = Pair(NO_RESERVATIONS)
    both.run(history)
    both.settle()
    both.now += 100.0
    both.settle()
    assert both.scheduler.next_round_in() is None
    assert both.oracle.waiting(both.now) == [
        uid for uid, task in sorted(both.oracle.tasks.items()) if task.state == "PENDING" and not task.held
    ]

"""Groups over random events: rules hold, no group is placed partly, and nothing that could be placed waits."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from tests.cost_models.tree_groups.history import JOBS, History
from tests.support.effort import examples

QUIET = RoundOptions(reserve_after_rounds=10**9, preemption=False)
EVICTING = RoundOptions(reserve_after_rounds=10**9)


def play(history: History, rounds: int, *, meanwhile: tuple[int, ...] = (0,)) -> None:
    for _ in range(rounds):
        for _ in range(history.random.randint(1, 4)):
            history.happen()
        history.round(history.random.choice(meanwhile))


@pytest.mark.parametrize("seed", range(examples(40)))
def test_rules_hold_and_nothing_is_left_behind(seed: int):
    history = History(seed, QUIET)
    for _ in range(5):
        play(history, 2)
        history.settle()
        history.clock.advance(120.0)
        history.settle()
        assert history.left_behind() == []


@pytest.mark.parametrize("options", [QUIET, EVICTING], ids=["quiet", "evicting"])
@pytest.mark.parametrize("seed", range(examples(20)))
def test_groups_are_whole_and_keep_their_rules_whatever_happens_during_the_solve(
    seed: int, options: RoundOptions
):
    history = History(9000 + seed, options, priorities=(0, 1, 2))
    history.preempts = False  # who was told to go for a place may have been kept from going meanwhile
    play(history, 10, meanwhile=(1, 2, 3))


@pytest.mark.parametrize("seed", range(examples(30)))
def test_rules_hold_where_groups_and_singles_evict_others(seed: int):
    history = History(2000 + seed, EVICTING, priorities=(0, 1, 2))
    for _ in range(6):
        history.apply(history.submit("x", 6), history.submit(history.random.choice(JOBS), 3))
        history.settle()
        history.report(everyone=True)
        history.apply(history.submit(history.random.choice(JOBS), history.random.randint(2, 5)))
        history.round()
        play(history, 1)
        history.report(everyone=True)
    history.settle()


@pytest.mark.parametrize("seed", range(examples(40)))
def test_more_important_groups_and_singles_come_first(seed: int):
    history = History(4000 + seed, QUIET, priorities=(0, 1, 2))
    for _ in range(6):
        history.apply(*(history.submit(name, history.random.randint(2, 5)) for name in (*JOBS, "x")))
        play(history, 1)
        if history.core.next_round_in() != 0:  # else something was given up when the round was closed
            assert history.left_behind(history.fresh) == []
        for uid in sorted(history.states()):
            if history.random.random() < 0.3:
                history.remove(uid)


@pytest.mark.parametrize("seed", range(6))
def test_equal_histories_get_equal_answers(seed: int):
    answers = []
    for _ in range(2):
        history = History(3000 + seed, EVICTING, priorities=(0, 1))
        play(history, 6)
        answers.append((history.states(), history.round().unscheduled))
    assert answers[0] == answers[1]

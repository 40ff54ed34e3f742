"""Classes with which rounds fail: who waits because of them, who does not, and which of many they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, TaskRemoved, TasksSubmitted
from firmament.core.requeue.set_aside import SetAside, find_culprits, waiting_classes
from firmament.core.scheduler import Scheduler
from firmament.core.state import transitions
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks
from tests.support.effort import examples
from tests.support.rules import ints

BAD, GOOD = task_class(cpu=200), task_class(cpu=100)
WHY = "the scheduler fails over pods like this one"


@pytest.fixture
def core() -> Scheduler:
    """Two classes, of which one is set aside."""
    made = scheduler(machine(), *tasks(1, "bad", content=BAD), *tasks(2, "good", content=GOOD))
    made.set_aside([BAD], WHY)
    return made


def test_its_tasks_wait_and_are_told_why_once_and_others_are_placed(core: Scheduler):
    result = core.run_round()
    assert set(placed(result)) == {"good"}
    assert messages(result) == {"bad": WHY}
    assert core.next_round_in() is None
    core.apply(tasks(2, "good-2", content=GOOD))
    result = core.run_round()
    assert set(placed(result)) == {"good-2"}
    assert messages(result) == {}


def test_tasks_of_it_that_come_later_wait_too(core: Scheduler):
    core.run_round()
    core.apply([TasksSubmitted(1, ("bad-2", "bad-3"))])
    assert messages(core.run_round()) == {"bad-2": WHY, "bad-3": WHY}


def test_changes_of_machines_do_not_wake_them(core: Scheduler):
    core.run_round()
    core.apply([machine("another")])
    assert core.next_round_in() is None


def test_they_are_tried_again_once_the_class_is_defined_again(core: Scheduler):
    core.run_round()
    core.apply([ClassDefined(2, GOOD)])
    assert core.next_round_in() is None, "another class"
    core.apply([ClassDefined(1, BAD)])
    assert core.next_round_in() == 0.0
    assert set(placed(core.run_round())) == {"bad"}


def test_once_defined_again_a_class_is_like_any_other(core: Scheduler):
    core.run_round()
    core.apply([ClassDefined(1, BAD)])
    core.run_round()
    core.apply([TasksSubmitted(1, ("bad-2",))])
    assert set(placed(core.run_round())) == {"bad-2"}


def test_a_task_that_becomes_one_of_another_class_is_tried(core: Scheduler):
    core.run_round()
    core.apply([TasksSubmitted(2, ("bad",))])
    assert set(placed(core.run_round())) == {"bad"}


def test_two_classes_wait_for_reasons_of_their_own(core: Scheduler):
    third = task_class(cpu=300)
    core.apply(tasks(3, "third", content=third))
    core.set_aside([third], "another reason")
    assert messages(core.run_round()) == {"bad": WHY, "third": "another reason"}
    core.apply([ClassDefined(3, third)])
    assert set(placed(core.run_round())) == {"third"}
    core.apply([TasksSubmitted(1, ("bad-2",))])
    assert messages(core.run_round()) == {"bad-2": WHY}


def test_who_is_gone_before_the_round_ends_is_told_nothing(core: Scheduler):
    opened = core.open_round()
    core.apply([TaskRemoved("bad")])
    result = core.close_round(opened, opened.solve())
    assert set(placed(result)) == {"good"}
    assert result.unscheduled == ()


def test_who_may_be_tried_again_before_the_round_ends_is_told_nothing(core: Scheduler):
    opened = core.open_round()
    core.apply([ClassDefined(1, BAD)])
    result = core.close_round(opened, opened.solve())
    assert set(placed(result)) == {"good"}
    assert result.unscheduled == ()
    assert set(placed(core.run_round())) == {"bad"}


def test_a_round_of_some_classes_leaves_out_the_others_and_tells_them_nothing(core: Scheduler):
    core.apply(tasks(3, "third", content=task_class(cpu=300)))
    opened = core.open_round(frozenset({GOOD}))
    assert opened.snapshot is not None
    assert [opened.snapshot.problem.counts.sum()] == [1]
    core.try_all_again()
    assert set(placed(core.run_round())) == {"good", "third"}


def test_only_tasks_without_a_place_are_set_aside_and_classes_that_are_gone_are_forgotten():
    made = scheduler(machine(), *tasks(1, "waits", "placed", content=BAD))
    cluster, row = made._cluster, made._cluster.tasks.row_of
    transitions.assume(cluster, ints(row["placed"]), ints(0))
    aside = SetAside()
    aside.add(cluster, [task_class(cpu=77)], "gone")
    aside.add(cluster, [BAD], WHY)
    assert aside.why == {BAD: WHY}
    assert aside.choose(cluster, ints(row["waits"], row["placed"]), None).tolist() == []
    assert cluster.tasks.refused[[row["waits"], row["placed"]]].tolist() == [True, False]
    assert aside.unreported == {"waits": WHY}


def test_classes_that_wait_are_those_of_tasks_that_rounds_would_take():
    core = scheduler(
        machine(cpu=1000),
        *tasks(1, "placed", content=BAD),
        *tasks(2, "large", content=task_class(cpu=9000)),
    )
    core.run_round()
    core.apply([*tasks(3, "a", "b", content=GOOD), *tasks(4, content=task_class(cpu=5))])
    assert waiting_classes(core._cluster) == [GOOD]


@settings(max_examples=examples(200))
@given(st.integers(1, 12), st.sets(st.integers(0, 11), max_size=4))
def test_those_that_fail_alone_are_found_unless_all_do(count: int, chosen: set[int]):
    bad = {each for each in chosen if each < count}
    found = find_culprits(range(count), lambda some: bool(bad & set(some)), 100)
    assert sorted(found) == (sorted(bad) if len(bad) < count else [])


@pytest.mark.parametrize("bad", [{3}, {0, 99}, {10, 11, 12, 13}])
def test_few_trials_find_few_among_many(bad: set[int]):
    assert set(find_culprits(range(100), lambda some: bool(bad & set(some)), 60)) == bad


def _note_and_ask(asked: list[list[int]], some: Sequence[int]) -> bool:
    asked.append([*some])
    return 5 in some


def _has_all(pair: tuple[int, ...], some: Sequence[int]) -> bool:
    return set(pair) <= set(some)


def test_no_more_trials_are_made_than_allowed():
    for budget in range(12):
        asked: list[list[int]] = []

        found = find_culprits(range(8), partial(_note_and_ask, asked), budget)
        assert len(asked) <= budget
        assert found == ([5] if budget >= 6 else [])  # two for each of three halvings


def test_nobody_is_named_where_none_fails_alone():
    for pair in combinations(range(5), 2):
        assert not find_culprits(range(5), partial(_has_all, pair), 60)

"""The count that says no without a round: never where all tasks have places, and where size or rules show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.rescheduling.room_bound import may_fit
from tests.support.effort import examples

Amounts = tuple[int, int]


def asked(free: Sequence[Amounts], tasks: Sequence[tuple[Amounts, frozenset[int]]]) -> bool:
    """Ask about tasks (request, machines that it is open to), each a class of its own."""
    sets = list(dict.fromkeys(machines for _, machines in tasks))
    return may_fit(
        np.array(free, dtype=np.int64),
        np.array([request for request, _ in tasks], dtype=np.int64).reshape(-1, 2),
        np.ones(len(tasks), dtype=np.int64),
        np.array([sets.index(machines) for _, machines in tasks], dtype=np.int64),
        [np.isin(np.arange(len(free)), sorted(each)) for each in sets],
    )


def placeable(free: Sequence[Amounts], tasks: Sequence[tuple[Amounts, frozenset[int]]]) -> bool:
    """Try every machine for every task in turn."""
    if not tasks:
        return True
    ((cpu, memory), machines), rest = tasks[0], tasks[1:]
    for machine in machines:
        left = (free[machine][0] - cpu, free[machine][1] - memory)
        if min(left) >= 0 and placeable([*free[:machine], left, *free[machine + 1 :]], rest):
            return True
    return False


amounts = st.tuples(st.integers(0, 4), st.integers(0, 4))


@st.composite
def cases(draw: st.DrawFn):
    free = draw(st.lists(amounts, min_size=1, max_size=4))
    machines = st.frozensets(st.integers(0, len(free) - 1))
    return free, draw(st.lists(st.tuples(amounts, machines), max_size=5))


@settings(max_examples=examples(1500))
@given(cases())
def test_where_all_have_places_it_never_says_no(case):
    free, tasks = case
    assert asked(free, tasks) or not placeable(free, tasks)


EVERY = frozenset(range(3))


def test_what_is_large_does_not_fit_between_what_is_left_over():
    free = [(3, 9), (3, 9), (3, 9)]
    assert asked(free, [((3, 1), EVERY)] * 3)
    assert not asked(free, [((4, 1), EVERY)]), "all the room together would do"
    assert not asked(free, [((2, 1), EVERY)] * 4), "two do not fit on one"
    assert not asked(free, [((2, 1), EVERY)] * 3 + [((3, 2), EVERY)]), "the larger one needs such room, too"


def test_machines_that_are_not_open_do_not_count():
    free = [(4, 4), (4, 4), (4, 4)]
    assert not asked(free, [((3, 0), frozenset({0}))] * 2)
    assert not asked(free, [((3, 0), frozenset({0, 1})), ((3, 0), frozenset({0})), ((3, 0), frozenset({1}))])
    assert not asked(free, [((1, 0), frozenset())])
    assert asked(free, [((3, 0), frozenset({0})), ((3, 0), frozenset({1, 2})), ((3, 0), EVERY)])


def test_what_asks_for_nothing_fits_anywhere():
    assert asked([(0, 0)], [((0, 0), frozenset({0}))] * 5)

"""Sums on machines never wrap around, whatever tasks request, and are right again once tasks leave."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import MAX_QUANTITY
from firmament.core.resources import CEILING, SaturatingSums
from tests.support.core import GIB, machine, messages, placed, scheduler, task_class, tasks, uids

AMOUNTS = st.integers(0, 4) | st.integers(MAX_QUANTITY - 4, MAX_QUANTITY) | st.just(MAX_QUANTITY)
ROWS = st.integers(0, 2)
STEPS = st.lists(
    st.tuples(st.just("one"), ROWS, st.tuples(AMOUNTS, AMOUNTS))
    | st.tuples(st.just("many"), ROWS, st.tuples(AMOUNTS, AMOUNTS))
    | st.tuples(st.just("back"), st.integers(0, 9), st.none())
    | st.tuples(st.just("moved"), ROWS, ROWS),
    max_size=20,
)


@given(STEPS)
def test_sums_are_exact_up_to_the_ceiling(steps):
    sums = SaturatingSums(3, 2)
    exact = [[0, 0] for _ in range(3)]
    added: list[tuple[int, tuple[int, int]]] = []
    for what, which, detail in steps:
        match what:
            case "one":
                sums.add(which, np.array(detail), 1)
                added.append((which, detail))
            case "many":
                sums.add_all(np.full(600, which), np.tile(np.array(detail), (600, 1)))
                added += [(which, detail)] * 600
            case "back" if added:
                row, amounts = added.pop(which % len(added))
                sums.add(row, np.array(amounts), -1)
            case "moved" if which != detail:
                sums.move(which, detail)
                added = [(detail if row == which else row, each) for row, each in added if row != detail]
    for row, amounts in added:
        exact[row] = [total + amount for total, amount in zip(exact[row], amounts, strict=True)]
    assert sums.cells.tolist() == [[min(total, CEILING) for total in totals] for totals in exact]
    assert sums.beyond.tolist() == [row for row, totals in enumerate(exact) if max(totals) > CEILING]


@given(st.lists(st.tuples(AMOUNTS, st.integers(1, 3000)), min_size=1, max_size=3), st.data())
def test_a_machine_full_beyond_measure_is_full(running, data):
    """Against integers without bounds: nothing is placed where it does not fit, by eviction neither."""
    core = scheduler(machine("m", memory=16 * GIB, pods=100_000))
    for number, (amount, count) in enumerate(running, 1):
        content = task_class(cpu=0, memory=amount)
        core.apply([ClassDefined(number, content), TasksBound("m", number, uids(f"t{number}", count))])
    left = 16 * GIB - sum(amount * count for amount, count in running)
    wanted = data.draw(st.integers(1, 32 * GIB) | AMOUNTS.filter(bool))
    core.apply(tasks(9, "new", content=task_class(cpu=0, memory=wanted)))
    assert ("new" in placed(core.run_round())) == (wanted <= left)


def test_thousands_of_tasks_of_8_pi_leave_no_room():
    core = scheduler(
        machine("m", memory=16 * GIB, pods=10_000),
        ClassDefined(1, task_class(cpu=1, memory=2**53)),
        TasksBound("m", 1, uids("huge", 2_000)),
        tasks(2, "new", content=task_class(cpu=1, memory=GIB), priority=10),
    )
    result = core.run_round()
    assert not result.deltas
    assert messages(result)["new"].startswith("0/1 nodes are available: 1 Insufficient memory.")
    assert next(core.machine_states()).free["memory"] < 0
    core.apply([TaskRemoved(uid) for uid in uids("huge", 2_000)])
    assert next(core.machine_states()).free["memory"] == 16 * GIB
    assert placed(core.run_round()) == {"new": "m"}


def test_nobody_is_evicted_from_a_machine_that_stays_full():
    """Its tasks could all go in sums that wrap around, and none of them helps."""
    core = scheduler(
        machine("m", memory=16 * GIB, pods=10_000),
        ClassDefined(1, task_class(cpu=1, memory=2**53)),
        TasksBound("m", 1, uids("low", 1_500), priority=0),
        TasksBound("m", 1, uids("high", 1_500), priority=100),
        tasks(2, "new", content=task_class(cpu=1, memory=GIB), priority=10),
    )
    assert not core.run_round().deltas
    core.apply([TasksSubmitted(2, ("other",), priority=10)])
    assert not core.run_round().deltas

"""What is remembered of shapes' prices between rounds, for how long, and that it changes no cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    ClassRemoved,
    Event,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.placement.outcome import no_timer
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.price_memory import MOST_ROUNDS, PriceMemory
from firmament.core.state.classes import LEAST_SURPLUS
from firmament.saved_rounds.replaying import replay
from firmament.saved_rounds.saving import RoundRecord, decode_round, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import GIB, Clock, machine, task_class, uids

CLASSES = 8
PER_CLASS = 30


def machines() -> list[Event]:
    random = np.random.default_rng(4)
    sizes = random.integers(4, 33, (300, 2)).tolist()
    return [machine(f"m{i:03}", cpu=cpu * 1000, memory=memory * GIB) for i, (cpu, memory) in enumerate(sizes)]


def classes(first: int = 1, count: int = CLASSES) -> list[Event]:
    return [
        ClassDefined(number, task_class(cpu=100 + 35 * number, memory=(1 + number * 5 % 7) * GIB // 2))
        for number in range(first, first + count)
    ]


def wave(name: str, first: int = 1, count: int = CLASSES) -> list[Event]:
    return [
        TasksSubmitted(number, uids(f"{name}-{number}", PER_CLASS)) for number in range(first, first + count)
    ]


def gone(name: str, first: int = 1, count: int = CLASSES) -> list[Event]:
    return [
        TaskRemoved(uid)
        for number in range(first, first + count)
        for uid in uids(f"{name}-{number}", PER_CLASS)
    ]


def new_scheduler() -> Scheduler:
    made = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=Clock())
    made.apply([*machines(), *classes()])
    return made


def run(scheduler: Scheduler) -> RoundRecord:
    """Run a round, report all as bound, and return it."""
    opened = scheduler.open_round()
    placement = opened.solve()
    assert opened.snapshot is not None
    result = scheduler.close_round(opened, placement)
    scheduler.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas])
    return RoundRecord("c", opened.snapshot, placement, result)


def test_the_next_round_knows_what_the_last_one_found():
    scheduler = new_scheduler()
    scheduler.apply(wave("a"))
    first = run(scheduler)
    assert first.snapshot.problem.dual_prices is None
    assert first.placement.dual_prices is not None
    scheduler.apply([*gone("a"), *wave("b")])
    second = run(scheduler)
    known = second.snapshot.problem.dual_prices
    assert known is not None
    assert known.shape.tolist() == first.placement.dual_prices.shape.tolist() == list(range(CLASSES))
    assert known.price.tolist() == first.placement.dual_prices.price.tolist()


def test_rounds_cost_the_same_as_those_of_a_core_that_knows_nothing():
    scheduler = new_scheduler()
    for name, before in (("a", ""), ("b", "a"), ("c", "b")):
        scheduler.apply([*(gone(before) if before else []), *wave(name)])
        done = run(scheduler)
        fresh = new_scheduler()
        fresh.apply(wave(name))
        stats, expected = done.result.stats, run(fresh).result.stats
        assert stats.certified
        assert expected.certified
        assert done.placement.first is not None
        assert (stats.cost, stats.placed, stats.gap) == (expected.cost, expected.placed, expected.gap)


def test_a_saved_round_comes_out_the_same_with_what_was_known():
    scheduler = new_scheduler()
    scheduler.apply(wave("a"))
    run(scheduler)
    scheduler.apply([*gone("a")[: CLASSES * PER_CLASS // 2], *wave("b")])
    saved = decode_round(encode_round(run(scheduler), {}))
    assert saved.problem.dual_prices is not None
    again = replay(saved, OrToolsSolver(), no_timer)
    assert (again.same, again.now.arcs, again.now.solves) == (True, saved.description.stats.arcs, 1)


def test_equal_histories_give_equal_rounds():
    def history() -> list[object]:
        scheduler = new_scheduler()
        seen: list[object] = []
        for name, before in (("a", ""), ("b", "a"), ("c", "b")):
            scheduler.apply([*(gone(before)[::2] if before else []), *wave(name)])
            done = run(scheduler)
            seen += [done.result.deltas, done.result.stats.arcs]
        return seen

    assert history() == history()


def test_shapes_that_are_gone_are_forgotten_and_the_others_renumbered():
    scheduler = new_scheduler()
    scheduler.apply(wave("a"))
    run(scheduler)
    extra = range(1_000, 1_000 + LEAST_SURPLUS)
    passing = [ClassDefined(number, task_class(cpu=number)) for number in extra]
    scheduler.apply([*passing, *(ClassRemoved(number) for number in extra)])
    scheduler.apply([*gone("a", 1, 2), ClassRemoved(1), ClassRemoved(2)])
    scheduler.apply([*passing, *(ClassRemoved(number) for number in extra)])
    scheduler.apply(wave("b", 3, CLASSES - 2))
    known = run(scheduler).snapshot.problem.dual_prices
    assert known is not None
    fresh = new_scheduler()
    fresh.apply(wave("a"))
    expected = run(fresh).placement.dual_prices
    assert expected is not None
    assert known.price.tolist() == expected.price.tolist()[2:]


class TestTable:
    """The table by itself, fed with prices of rows."""

    @staticmethod
    def learn(known: PriceMemory, **prices: float) -> None:
        rows = sorted((int(name[1:]), price) for name, price in prices.items())
        known.take_over(
            DualPrices(
                np.array([row for row, _ in rows]), np.array([price for _, price in rows], dtype=np.float32)
            )
        )

    @staticmethod
    def told(known: PriceMemory, *rows: int) -> list[float | None]:
        found = known.recall(rows)
        if found is None:
            return [None] * len(rows)
        by_row = dict(zip(found.shape.tolist(), found.price.tolist(), strict=True))
        return [by_row.get(place) for place in range(len(rows))]

    def test_prices_that_are_not_found_move_with_those_that_are(self):
        known = PriceMemory()
        self.learn(known, r3=100, r5=200, r9=300)
        self.learn(known, r3=110, r5=230)
        assert self.told(known, 9, 3, 5, 4) == [320, 110, 230, None]

    def test_nothing_is_kept_whose_level_is_not_known(self):
        known = PriceMemory()
        self.learn(known, r3=100)
        self.learn(known, r4=900)
        assert self.told(known, 3, 4) == [None, 900]

    def test_prices_not_found_for_long_are_forgotten(self):
        known = PriceMemory(most_rounds=3)
        self.learn(known, r1=10, r2=20)
        for _ in range(3):
            self.learn(known, r2=20)
            assert self.told(known, 1) == [10]
        self.learn(known, r2=20)
        assert self.told(known, 1, 2) == [None, 20]
        assert len(known) == 1

    def test_memory_follows_the_shapes_of_the_last_rounds(self):
        known = PriceMemory()
        for number in range(10 * MOST_ROUNDS):
            self.learn(known, r0=5, **{f"r{number + 1}": 7.0})
        assert len(known) == MOST_ROUNDS + 2

    def test_rows_are_renumbered(self):
        known = PriceMemory()
        self.learn(known, r1=10, r3=30, r4=40)
        known.renumber(np.array([0, 1, -1, -1, 2]))
        assert self.told(known, 0, 1, 2, 3, 4) == [None, 10, 40, None, None]


def test_what_misled_is_forgotten():
    scheduler = new_scheduler()
    scheduler.apply(wave("a"))
    opened = scheduler.open_round()
    placement = opened.solve()
    assert placement.first is not None
    outcome = replace(placement.first.outcome, dual_prices=DualPrices.none())
    scheduler.close_round(opened, replace(placement, first=replace(placement.first, outcome=outcome)))
    scheduler.apply(wave("b"))
    assert run(scheduler).snapshot.problem.dual_prices is None


@pytest.mark.parametrize("count", [1, 2])
def test_rounds_that_look_for_no_prices_change_nothing(count: int):
    scheduler = new_scheduler()
    scheduler.apply(wave("a"))
    before = run(scheduler).placement.dual_prices
    assert before is not None
    for number in range(count):
        scheduler.apply([TasksSubmitted(2, (f"single-{number}",))])
        assert run(scheduler).placement.dual_prices is None
    scheduler.apply(wave("b"))
    known = run(scheduler).snapshot.problem.dual_prices
    assert known is not None
    assert known.price.tolist() == before.price.tolist()

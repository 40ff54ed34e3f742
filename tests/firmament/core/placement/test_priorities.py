"""Nobody waits for room that less important tasks were given in the same round."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, MachineUpserted, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.placement.outcome import PassOptions
from tests.oracle.cluster import OracleCluster
from tests.support.effort import examples
from tests.support.histories.pair import NO_RESERVATIONS, Pair
from tests.support.histories.strategies import History, Round, crowds, definitions, histories


def displaced(oracle: OracleCluster, placed: set[str], now: float) -> list[str]:
    """Waiting tasks that would fit if the less important of those just placed had not been."""
    found = []
    for uid in oracle.waiting(now):
        lower = frozenset(
            other for other in placed if oracle.tasks[other].priority < oracle.tasks[uid].priority
        )
        if oracle.fits_somewhere(uid, without=lower):
            found.append(uid)
    return found


def check(history: History, options: RoundOptions) -> None:
    both = Pair(options)
    both.step(definitions(history.classes))
    for step in history.steps:
        if isinstance(step, Round):
            result = both.round()
            assert displaced(both.oracle, {delta.uid for delta in result.deltas}, both.now) == []
        else:
            both.step(step)


@settings(max_examples=examples(150))
@given(st.one_of(crowds(), histories(windows=False)))
def test_with_networks(history: History):
    check(history, NO_RESERVATIONS)


@settings(max_examples=examples(60))
@given(crowds())
def test_with_the_greedy_last_resort(history: History):
    check(history, RoundOptions(passes=PassOptions(max_passes=0), reserve_after_rounds=10**9))


def test_large_important_task_wins_a_machine_from_small_ones():
    both = Pair()
    both.apply(
        ClassDefined(1, TaskClass(requests=(("cpu", 1),))),
        ClassDefined(2, TaskClass(requests=(("cpu", 4),))),
        MachineUpserted(Machine("m", {"cpu": 4, "pods": 10})),
        TasksSubmitted(1, ("a", "b", "c", "d"), priority=0),
        TasksSubmitted(2, ("large",), priority=1),
    )
    assert [(delta.uid, delta.machine) for delta in both.round().deltas] == [("large", "m")]

"""The end of a stage: who moves to room elsewhere, which victims stay after all, and who waits for whom."""

from __future__ import annotations

import pytest

from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.reprieve import consolidate, list_decisions, reprieve_gangs
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state

ONE = Waiting((2,), count=2)


@pytest.mark.parametrize(
    ("free", "moves"), [(2, True), (1, False), (3, True)], ids=["just enough", "too little", "more"]
)
def test_a_task_moves_to_room_elsewhere_and_its_victim_stays(free: int, moves: bool):
    now = state([ONE], [[0], [free]], [Victim(0, (2,))])
    now.evict([0])
    now.put(0, 0)
    consolidate(now, 0)
    assert now.taken == [(0, 1 if moves else 0)]
    assert now.gone.tolist() == [not moves]
    assert now.remaining.tolist() == [1]


def test_places_before_the_stage_and_without_victims_are_left_alone():
    now = state([ONE], [[0], [2], [2]], [Victim(0, (2,))])
    now.evict([0])
    now.put(0, 0)
    consolidate(now, 1)
    assert now.taken == [(0, 0)]
    now = state([ONE], [[2], [2]])
    now.put(0, 0)
    consolidate(now, 0)
    assert now.taken == [(0, 0)]


def test_only_so_many_of_the_last_places_are_checked():
    tuning = PreemptionTuning(most_moves=1)
    now = state([ONE], [[0], [0], [2]], [Victim(0, (2,)), Victim(1, (2,))], tuning=tuning)
    for machine in (0, 1):
        now.evict([machine])
        now.put(0, machine)
    consolidate(now, 0)
    assert now.taken == [(0, 0), (0, 2)]
    assert now.gone.tolist() == [True, False]


def test_a_machine_that_a_task_may_not_use_is_no_place():
    now = state([ONE], [[0], [5]], [Victim(0, (2,))], feasible=[[True, False]])
    now.evict([0])
    now.put(0, 0)
    consolidate(now, 0)
    assert now.taken == [(0, 0)]


def crowded(*victims: Victim, allowed: tuple[int, ...] = ()) -> list[bool]:
    """Who stays on a machine with 2 free, from which all victims were to leave for two tasks of 2 each."""
    now = state([ONE], [[2]], victims, allowed=allowed)
    now.evict(range(len(victims)))
    now.put(0, 0)
    now.put(0, 0)
    consolidate(now, 0)
    return [not gone for gone in now.gone.tolist()]


@pytest.mark.parametrize(
    ("victims", "allowed", "stays"),
    [
        ([Victim(0, (2,), 1), Victim(0, (2,), 2)], (), [False, True]),  # the more important one
        ([Victim(0, (2,), 1, 9.0), Victim(0, (2,), 1, 5.0)], (), [False, True]),  # the older one
        ([Victim(0, (2,), 1, budgets=(0,)), Victim(0, (2,), 2)], (0,), [True, False]),  # beyond its budget
        ([Victim(0, (2,), 1, budgets=(0,)), Victim(0, (2,), 2)], (1,), [False, True]),
        ([Victim(0, (1,), 1), Victim(0, (3,), 2)], (), [True, False]),  # the other one is needed
        ([Victim(0, (2,), 1), Victim(0, (1,), 2)], (), [False, True]),
    ],
)
def test_on_a_machine_with_several_preemptors_victims_stay_that_are_not_needed(
    victims: list[Victim], allowed: tuple[int, ...], stays: list[bool]
):
    assert crowded(*victims, allowed=allowed) == stays


def test_members_of_a_gang_that_has_left_stay_only_if_it_is_whole_then():
    running = [Victim(0, (2,), gang=0), Victim(1, (2,), gang=0), Victim(2, (2,), gang=0)]

    def staying(spare: int) -> list[bool]:
        now = state([ONE], [[0], [0], [0]], running, gangs=[Gang(spare)])
        now.evict([0, 1, 2])
        now.put(0, 0)
        reprieve_gangs(now)
        return [not gone for gone in now.gone.tolist()]

    assert staying(1) == [False, True, True]
    assert staying(0) == [False, False, False]
    assert staying(2) == [False, True, True]


def test_of_a_gang_that_has_left_the_most_important_members_stay():
    running = [Victim(0, (2,), 1, gang=0), Victim(0, (2,), 3, gang=0), Victim(1, (2,), 2, gang=0)]
    now = state([ONE], [[0], [0]], running, gangs=[Gang(1)])
    now.evict([0, 1, 2])
    now.put(0, 0)
    reprieve_gangs(now)
    assert now.gone.tolist() == [True, False, False]


# --- decisions -------------------------------------------------------------------------------------------------------


def test_victims_are_evicted_for_the_first_task_and_all_wait_for_them():
    now = state([Waiting((1,), count=2)], [[0], [1]], [Victim(0, (1,)), Victim(0, (1,), 1)])
    now.evict([1, 0])
    now.put(0, 0)
    now.put(0, 1)
    now.put(0, 0)
    first, beside, second = list_decisions(now)
    assert (first.cls, first.machine, first.evicts, first.awaits) == (0, 0, (0, 1), (0, 1))
    assert (beside.machine, beside.evicts, beside.awaits) == (1, (), ())
    assert (second.machine, second.evicts, second.awaits) == (0, (), (0, 1))
    assert {each.beyond for each in (first, beside, second)} == {frozenset()}


def test_victims_beyond_budgets_are_named_in_their_order():
    running = [
        Victim(0, (1,), 0, budgets=(0,)),
        Victim(0, (1,), 1, budgets=(0,)),
        Victim(0, (1,), 2, budgets=(1,), granted=True),
        Victim(0, (1,), 3, budgets=(1,)),
        Victim(0, (1,), 4),
    ]
    now = state([Waiting((5,))], [[0]], running, allowed=[1, 2])
    now.evict(range(5))
    now.put(0, 0)
    (decision,) = list_decisions(now)
    assert decision.evicts == (0, 1, 2, 3, 4)
    assert decision.beyond == {1, 2}


def test_tasks_that_leave_anyway_are_awaited_only_where_their_room_is_needed():
    running = [Victim(0, (1,), 0, leaving=True), Victim(0, (1,), 1, leaving=True)]

    def awaited(free: int) -> tuple[int, ...]:
        now = state([Waiting((2,))], [[free]], running)
        now.put(0, 0)
        (decision,) = list_decisions(now)
        assert decision.evicts == ()
        return decision.awaits

    assert awaited(0) == (0, 1)
    assert awaited(1) == (0,)
    assert awaited(2) == ()


def test_a_gang_that_leaves_is_evicted_elsewhere_too():
    running = [Victim(0, (1,), gang=0), Victim(1, (1,), gang=0), Victim(1, (1,), 1)]
    now = state([Waiting((1,))], [[0], [0]], running, gangs=[Gang(0)])
    now.evict([0, 1])
    now.put(0, 0)
    (decision,) = list_decisions(now)
    assert decision.evicts == decision.awaits == (0, 1)
    spared = state([Waiting((1,))], [[0], [0]], running, gangs=[Gang(1)])
    spared.evict([0])
    spared.put(0, 0)
    assert list_decisions(spared)[0].evicts == (0,)


def test_victims_elsewhere_that_free_quota_are_awaited_too():
    now = state([Waiting((1,))], [[0], [0]], [Victim(0, (1,)), Victim(1, (1,))])
    now.evict([0, 1])
    now.put(0, 0)
    now.elsewhere[0] = (1,)
    (decision,) = list_decisions(now)
    assert (decision.evicts, decision.awaits) == ((0, 1), (0, 1))


def test_tasks_elsewhere_that_leave_anyway_are_awaited_for_quota_but_not_evicted():
    now = state([Waiting((1,))], [[0], [0]], [Victim(0, (1,)), Victim(1, (1,), leaving=True)])
    now.evict([0])
    now.put(0, 0)
    now.elsewhere[0] = (1,)
    (decision,) = list_decisions(now)
    assert (decision.evicts, decision.awaits) == ((0,), (0, 1))


def test_a_later_task_is_no_victim_of_budgets_that_earlier_ones_have_used_up():
    running = [Victim(0, (1,), 0, budgets=(0,)), Victim(1, (1,), 0, budgets=(0,))]
    now = state([Waiting((1,), count=2)], [[0], [0]], running, allowed=[1])
    for machine in (0, 1):
        now.evict([machine])
        now.put(0, machine)
    first, second = list_decisions(now)
    assert (first.beyond, second.beyond) == (frozenset(), frozenset({1})), "one budget for all decisions"


def test_a_victim_that_leaves_anyway_is_awaited_but_not_evicted():
    running = [Victim(0, (1,), 0, leaving=True), Victim(0, (1,), 1)]
    now = state([Waiting((2,))], [[0]], running)
    now.evict([0, 1])
    now.put(0, 0)
    (decision,) = list_decisions(now)
    assert (decision.evicts, decision.awaits) == ((1,), (0, 1))


def test_of_tasks_that_leave_anyway_the_least_important_are_awaited_first():
    """The room of one of them is not needed: that of the most important one, though it is smaller."""
    running = [Victim(0, (2,), 0, leaving=True), Victim(0, (1,), 5, leaving=True)]
    now = state([Waiting((1,))], [[0]], running)
    now.put(0, 0)
    assert list_decisions(now)[0].awaits == (0,)


def test_only_resources_that_preemptors_request_keep_a_victim_from_staying():
    # The preemptor requests the first resource only; the second is more than used up.
    now = state([Waiting((2, 0), count=2)], [[2, -9]], [Victim(0, (0, 4)), Victim(0, (2, 4), 1)])
    now.evict([0, 1])
    now.put(0, 0)
    now.put(0, 0)
    consolidate(now, 0)
    assert now.gone.tolist() == [False, True]


def test_a_victim_without_requests_stays_however_little_room_there_is():
    now = state([Waiting((2,), count=2)], [[0]], [Victim(0, (0,)), Victim(0, (3,), 1)])
    now.evict([0, 1])
    now.put(0, 0)
    now.put(0, 0)
    consolidate(now, 0)
    assert now.gone.tolist() == [False, True]

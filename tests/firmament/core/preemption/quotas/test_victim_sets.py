"""Which sets of victims are tried, in which order, with the gangs that go along."""

from __future__ import annotations

from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.victim_sets import add_companions, keeps_gangs, list_victim_sets
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state


def running(*victims: Victim, **more: object) -> PreemptionState:
    return state([Waiting((1,))], [[0], [0]], victims, **more)  # type: ignore[arg-type]  # by name


def listed(
    now: PreemptionState, candidates: list[int], at_least: int, tried: list[list[int]] | None = None
) -> list[list[int]]:
    """All sets of so many tasks, weighed by budgets, then size, then the numbers of the tasks from the last."""

    def suffices(victims: list[int]) -> bool:
        if tried is not None:
            tried.append(victims)
        return len(victims) >= at_least

    def weigh(victims: list[int]) -> tuple[object, ...]:
        return now.count_beyond(victims), len(victims), [-victim for victim in victims]

    return list(list_victim_sets(now, candidates, weigh, suffices))


def test_smaller_sets_come_first_then_those_of_the_smallest_weight():
    now = running(*(Victim(0, (1,)) for _ in range(3)))
    assert listed(now, [0, 1, 2], 1) == [[2], [1], [0], [1, 2], [0, 2], [0, 1], [0, 1, 2]]
    assert listed(now, [0, 1, 2], 3) == [[0, 1, 2]]
    assert listed(now, [0, 1, 2], 4) == []
    assert listed(now, [], 0) == []


def test_larger_sets_are_not_listed_before_they_are_asked_for():
    now = running(*(Victim(0, (1,)) for _ in range(3)))
    tried: list[list[int]] = []

    def suffices(victims: list[int]) -> bool:
        tried.append(victims)
        return True

    assert next(list_victim_sets(now, [0, 1, 2], lambda victims: (len(victims), victims), suffices)) == [0]
    assert tried == [[0], [1], [2]]


def test_where_budgets_say_no_a_larger_set_may_come_first():
    now = running(Victim(0, (1,), budgets=(0,)), Victim(0, (1,)), Victim(0, (1,)), allowed=[0])
    assert listed(now, [0, 1, 2], 1) == [[2], [1], [1, 2], [0], [0, 2], [0, 1], [0, 1, 2]]


def test_gangs_go_along_and_each_set_is_tried_once():
    now = running(
        Victim(0, (1,), gang=0), Victim(0, (1,)), Victim(1, (1,), gang=0), gangs=[Gang(0, together=True)]
    )
    tried: list[list[int]] = []
    assert [sorted(each) for each in listed(now, [0, 1, 2], 1, tried)] == [[1], [0, 2], [0, 1, 2]]
    assert sorted(sorted(each) for each in tried) == [[0, 1, 2], [0, 2], [1]]
    assert [sorted(each) for each in listed(now, [0, 1], 2)] == [[0, 2], [0, 1, 2]]


def test_companions_are_the_rest_of_gangs_that_break():
    now = running(
        Victim(0, (1,), gang=0),
        Victim(0, (1,)),
        Victim(1, (1,), gang=0),
        Victim(1, (1,), gang=0),
        gangs=[Gang(1)],
    )
    assert add_companions(now, [0], []) == [0]
    assert sorted(add_companions(now, [0, 2], [])) == [0, 2, 3]
    assert sorted(add_companions(now, [2], [0])) == [2, 3]
    assert add_companions(now, [1], [1]) == []
    assert [keeps_gangs(now, each) for each in ([], [0], [1], [0, 2], [0, 2, 3])] == [
        True,
        True,
        True,
        False,
        True,
    ]

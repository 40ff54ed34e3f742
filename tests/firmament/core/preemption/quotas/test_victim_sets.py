"""Which sets of victims are tried, in which order, with the gangs that go along."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

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


@given(st.data())
def test_the_sets_are_those_of_all_candidates_in_the_same_order(data: st.DataObject) -> None:
    """The oracle takes all combinations; two of a gang that can spare nobody are never worth two tries."""
    gangs = [Gang(data.draw(st.integers(0, 2)), together=True) for _ in range(3)]
    gang = data.draw(st.lists(st.integers(-1, 2), min_size=1, max_size=9))
    now = running(*(Victim(0, (1,), gang=each) for each in gang), gangs=gangs)
    candidates = [each for each in range(len(gang)) if data.draw(st.booleans())]
    at_least = data.draw(st.integers(0, 4))
    expected: dict[frozenset[int], list[int]] = {}
    for size in range(1, len(candidates) + 1):
        for chosen in combinations(candidates, size):
            going = add_companions(now, chosen, [])
            expected.setdefault(frozenset(going), going)
    tried: list[list[int]] = []
    found = listed(now, candidates, at_least, tried)
    assert sorted(map(sorted, found)) == sorted(
        sorted(going) for going in expected.values() if len(going) >= at_least
    )
    assert tried == [*expected.values()]


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

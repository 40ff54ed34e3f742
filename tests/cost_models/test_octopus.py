"""Load spreading, balanced within one round."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.firmament_policies.octopus import Octopus
from cost_models.interface import ShapeRow
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples
from tests.support.models import Stated, flat
from tests.support.policies import machines, shapes


def test_a_machine_costs_a_hundred_per_running_task():
    columns = machines("idle", "some", "many", running=[0, 7, 250])
    answer = Octopus().assess(columns, shapes(ShapeRow(), ShapeRow()))
    assert answer.raw.tolist() == [[0.0, 700.0, 25_000.0]] * 2
    assert Octopus.range.points(answer.raw[0]).tolist() == [0.0, 7.0, 250.0]


def test_a_placed_task_weighs_as_much_as_a_running_one():
    columns = machines("a", "b")
    assert Octopus().crowding(columns, shapes(ShapeRow()).requests[0]).tolist() == [100.0, 100.0]


def test_a_thousand_idle_machines_get_five_each_of_five_thousand_tasks_in_one_round():
    core = scheduler(
        *(machine(f"m{index}") for index in range(1_000)),
        tasks(1, *uids("t", 5_000), content=task_class(cpu=100)),
        policy="octopus",
    )
    result = core.run_round()
    assert Counter(Counter(placed(result).values()).values()) == {5: 1_000}
    assert result.stats.certified


def test_classes_of_different_size_are_balanced_together():
    core = scheduler(
        *(machine(f"m{index}") for index in range(10)),
        tasks(1, *uids("small", 20), content=task_class(cpu=1)),
        tasks(2, *uids("large", 10), content=task_class(cpu=1_000)),
        policy="octopus",
    )
    assert Counter(Counter(placed(core.run_round()).values()).values()) == {3: 10}


def test_busy_machines_wait_until_the_others_have_caught_up():
    core = scheduler(
        *(machine(f"m{index}") for index in range(3)),
        ClassDefined(1, task_class(cpu=10)),
        TasksBound("m0", 1, uids("there", 4)),
        TasksBound("m1", 1, ("elsewhere",)),
        TasksSubmitted(1, uids("new", 7)),
        policy="octopus",
    )
    assert Counter(placed(core.run_round()).values()) == {"m1": 3, "m2": 4}


@settings(max_examples=examples(40))
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 30))
def test_as_level_as_water(running: list[int], count: int):
    # Pouring tasks one by one onto the emptiest machine gives the loads that one round has to give.
    events = [machine(f"m{index}") for index in range(len(running))]
    there = [
        TasksBound(f"m{index}", 1, uids(f"there-{index}", load)) for index, load in enumerate(running) if load
    ]
    core = scheduler(
        events,
        ClassDefined(1, task_class(cpu=1)),
        there,
        TasksSubmitted(1, uids("new", count)),
        policy="octopus",
    )
    core.run_round()
    level = list(running)
    for _ in range(count):
        level[level.index(min(level))] += 1
    assert sorted(state.tasks for state in core.machine_states()) == sorted(level)


def test_an_overlay_outweighs_balance_by_its_points():
    # Ten points of difference: machine b gets the eleventh task at the same price as machine a its first.
    core = scheduler(
        machine("a"),
        machine("b"),
        tasks(1, *uids("t", 10), content=task_class(cpu=1)),
        policy="octopus",
        overlays=[WeightedModel(Stated(flat(10.5, 0.0)))],
    )
    assert Counter(placed(core.run_round()).values()) == {"b": 10}

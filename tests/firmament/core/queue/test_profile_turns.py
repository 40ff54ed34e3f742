"""Profiles: each task is placed by its own models, and nobody before a more important one of another profile."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import BindingReport, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.model import Job
from firmament.core.rescheduling.plan_moves import PlanOptions, plan_moves
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples
from tests.support.invariants import validate

FILL = "batch"
LEAST = "least"


def with_policy(policy: str) -> CoreConfiguration:
    return CoreConfiguration(
        policy=WeightedModel(load_model(policy, {})), options=RoundOptions(preemption=False)
    )


def configured() -> CoreConfiguration:
    """Tasks spread, those of `FILL` fill machines, those of `LEAST` go by load alone."""
    profiles = {FILL: with_policy("most_allocated"), LEAST: with_policy("octopus")}
    return CoreConfiguration(
        policy=WeightedModel(load_model("cpu_mem", {})),
        options=RoundOptions(preemption=False),
        profiles=profiles,
    )


def of_profiles(*events: Event | Sequence[Event], small: bool = False) -> Scheduler:
    kept = {"kept_rows": KeptRows(least_machines=0), "first_costs": FirstCosts(0)} if small else {}
    made = Scheduler(configuration=configured(), solver=OrToolsSolver(), clock=Clock(), **kept)  # type: ignore[arg-type]
    made.apply([each for part in events for each in (part if isinstance(part, Sequence) else [part])])
    return made


def machines(count: int) -> list[Event]:
    return [machine(f"m{index}") for index in range(count)]


def run_all(core: Scheduler) -> list[RoundResult]:
    """Run rounds until none could achieve anything."""
    found = []
    while core.next_round_in() == 0.0:
        found.append(core.run_round())
        assert len(found) < 50
    return found


@pytest.mark.parametrize("small", [False, True])
def test_each_task_goes_where_its_own_profile_wants_it(small):
    core = of_profiles(
        machines(4),
        tasks(1, *uids("web", 4), content=task_class(1000)),
        tasks(2, *uids("job", 4), content=task_class(500, profile=FILL)),
        small=small,
    )
    first, second = run_all(core)
    assert (first.put_off, second.put_off) == (4, 0)
    where = placed(first) | placed(second)
    assert len({where[uid] for uid in uids("web", 4)}) == 4
    assert len({where[uid] for uid in uids("job", 4)}) == 1


def test_one_profile_alone_is_placed_in_one_round_and_like_a_configuration_of_its_own():
    events = [*machines(3), *tasks(1, *uids("job", 6), content=task_class(700, profile=FILL))]
    alone = scheduler(events, policy="most_allocated", options=RoundOptions(preemption=False))
    core = of_profiles(events)
    assert placed(core.run_round()) == placed(alone.run_round())
    assert core.next_round_in() is None


def test_an_unknown_profile_is_as_none():
    core = of_profiles(machines(2), tasks(1, "a", content=task_class(profile="other")), tasks(2, "b"))
    result = core.run_round()
    assert (len(placed(result)), result.put_off) == (2, 0)


def test_the_more_important_profile_goes_first_and_takes_nobody_less_important_along():
    core = of_profiles(
        machine("m", cpu=2000),
        tasks(1, "low", content=task_class(1000, profile=FILL), priority=1),
        tasks(2, "middle", content=task_class(1000), priority=5),
        tasks(3, "high", content=task_class(1000, profile=FILL), priority=9),
    )
    rounds = run_all(core)
    assert [sorted(placed(each)) for each in rounds] == [["high"], ["middle"], []]
    assert [uid for each in rounds for group in each.unscheduled for uid in group.uids] == ["low"]


def test_of_equal_importance_profiles_take_turns():
    core = of_profiles(machines(4), tasks(1, "a1"), tasks(2, "b1", content=task_class(profile=FILL)))
    assert [sorted(placed(each)) for each in run_all(core)] == [["a1"], ["b1"]]
    core.apply([TasksSubmitted(1, ("a2",)), TasksSubmitted(2, ("b2",))])
    assert [sorted(placed(each)) for each in run_all(core)] == [["a2"], ["b2"]]
    core.apply([TasksSubmitted(1, ("a3",))])
    run_all(core)
    core.apply([TasksSubmitted(1, ("a4",)), TasksSubmitted(2, ("b4",))])
    assert [sorted(placed(each)) for each in run_all(core)] == [["b4"], ["a4"]]


def test_a_gang_of_two_profiles_goes_as_a_whole_by_that_of_its_most_important_member():
    core = of_profiles(
        machines(4),
        JobDefined(Job("gang", min_members=4)),
        tasks(1, content=task_class(1000)),
        tasks(2, content=task_class(1000, profile=FILL)),
    )
    core.apply(
        [
            TasksSubmitted(1, ("a", "b"), job="gang", priority=1),
            TasksSubmitted(2, ("c", "d"), job="gang", priority=2),
        ]
    )
    (result,) = run_all(core)
    assert (set(placed(result)), result.put_off) == ({"a", "b", "c", "d"}, 0)
    assert len(set(placed(result).values())) == 1


def test_who_may_have_failed_a_round_is_of_its_profile():
    """Rounds that only some classes take part in find out which of them lets rounds fail."""
    core = of_profiles(
        machines(2),
        tasks(1, "a"),
        tasks(2, "b", content=task_class(profile=FILL)),
        tasks(3, "c", content=task_class(200, profile="unknown")),
    )
    core.open_round()
    assert [dict(each.requests)["cpu"] for each in core.waiting_classes()] == [100, 200]
    core.open_round()
    assert [each.profile for each in core.waiting_classes()] == [FILL]
    opened = core.open_round(frozenset(core.waiting_classes()))
    assert set(placed(core.close_round(opened, opened.solve()))) == {"b"}


def test_an_explanation_names_the_models_of_the_tasks_profile():
    core = of_profiles(machines(2), tasks(1, "a"), tasks(2, "b", content=task_class(profile=FILL)))
    models = {
        uid: {each.model for verdict in core.explain(uid).machines for each in verdict.models} for uid in "ab"
    }
    assert models == {"a": {"cpu_mem", "kubernetes"}, "b": {"most_allocated", "kubernetes"}}


def test_moves_pay_by_the_profile_of_the_task_that_moves():
    """Of two tasks of each profile, those that fill come together, and those that spread go apart."""
    bound = [("a1", 1, "m0"), ("a2", 1, "m0"), ("b1", 2, "m1"), ("b2", 2, "m2")]
    core = of_profiles(
        machines(4),
        tasks(1, content=task_class(1000)),
        tasks(2, content=task_class(1000, profile=FILL)),
        [TasksBound(name, number, (uid,)) for uid, number, name in bound],
    )
    prices = {uid: 0.0 for uid, _, _ in bound}
    plan = plan_moves(core, prices, PlanOptions(move_price=1.0), OrToolsSolver())
    where = {uid: name for uid, _, name in bound} | {each.uid: each.target for each in plan.moves}
    assert where["a1"] != where["a2"]
    assert where["b1"] == where["b2"]
    assert plan.cost_after < plan.cost_before
    assert {each.uid: each.machine for each in core.task_states()} == {uid: name for uid, _, name in bound}


@pytest.mark.parametrize("seed", range(examples(40)))
def test_any_history_overcommits_nothing_and_places_nobody_before_a_more_important_one(seed):
    """An oracle counts what machines have left, and compares each round with all who waited."""
    draw = random.Random(seed)
    names = ["", FILL, LEAST, "unknown"]
    count = draw.randint(1, 6)
    core = of_profiles(machines(count), small=draw.random() < 0.5)
    cpu: dict[str, int] = {}
    priority: dict[str, int] = {}
    running: dict[str, str] = {}
    made = 0
    for _ in range(draw.randint(1, 6)):
        events: list[Event] = []
        for _ in range(draw.randint(0, 5)):
            made += 1
            content = task_class(draw.choice([300, 900, 1700, 2500]), profile=draw.choice(names))
            new = uids(f"t{made}", draw.randint(1, 4))
            level = draw.choice([0, 0, 5, 9])
            events += tasks(made, *new, content=content, priority=level)
            cpu.update(dict.fromkeys(new, dict(content.requests)["cpu"]))
            priority.update(dict.fromkeys(new, level))
        for uid in draw.sample(sorted(running), draw.randint(0, len(running))):
            events.append(TaskRemoved(uid))
            del running[uid], cpu[uid], priority[uid]
        core.apply(events)
        while core.next_round_in() == 0.0:
            tried = {each.uid for each in core.task_states() if each.state == "PENDING" and not each.message}
            result = core.run_round()
            new_places = {each.uid: each.machine for each in result.deltas if each.kind is DeltaKind.PLACE}
            untried = tried - new_places.keys() - {uid for each in result.unscheduled for uid in each.uids}
            assert len(untried) <= result.put_off
            if new_places and untried:
                assert max(priority[uid] for uid in untried) <= min(priority[uid] for uid in new_places)
            running |= new_places
            core.report([BindingReport(uid, name, bound=True) for uid, name in new_places.items()])
            validate(core._cluster)
        left = {f"m{index}": 4000 for index in range(count)}
        for uid, name in running.items():
            left[name] -= cpu[uid]
        assert min(left.values()) >= 0
        waiting = cpu.keys() - running.keys()
        assert all(cpu[uid] > max(left.values()) for uid in waiting)

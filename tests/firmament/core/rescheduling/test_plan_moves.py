"""Plans of moves: they hold against all rules, costs fall by the price of each move, and a settled cluster stays."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from benchmarks.quality.consolidation import Running, random_cluster
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, Event, MachineUpserted, TaskRemoved, TasksBound
from firmament.core.model import Machine, TaskClass, TaskSelector, TaskTerm
from firmament.core.rescheduling.plan_moves import PlanOptions, PricedMove, plan_moves
from firmament.core.results import Delta, DeltaKind
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.programs.differential.checker import accepting_nodes
from tests.programs.differential.drive import check
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes, machines, namespaces
from tests.programs.differential.world import Cluster, Pod, PodSpec
from tests.support.effort import examples
from tests.support.invariants import validate

BLOCKS = examples(4, least=1)
SEEDS = examples(1000, slow=True)
PRICE = 2.0


def scheduler_of(events: Sequence[Event]) -> Scheduler:
    made = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    made.apply(events)
    return made


def planned(
    scheduler: Scheduler, uids: Mapping[str, object], most_moves: int = 1000
) -> tuple[PricedMove, ...]:
    return plan_moves(
        scheduler,
        dict.fromkeys(uids, 0.0),
        PlanOptions(move_price=PRICE, most_moves=most_moves),
        OrToolsSolver(),
    ).moves


def carry_out(scheduler: Scheduler, moves: Sequence[PricedMove], first_class: int) -> None:
    """Let all moves happen at once."""
    tasks = [scheduler.get_bound_task(move.uid) for move in moves]
    for number, (task, move) in enumerate(zip(tasks, moves, strict=True), first_class):
        scheduler.apply(
            [
                TaskRemoved(move.uid),
                ClassDefined(number, task.content),
                replace(task.event, machine=move.target, task_class=number),
            ]
        )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whoever_moves_is_allowed_where_it_goes_and_nothing_is_left_changed(block: int):
    moved = 0
    for seed in range(block, SEEDS, BLOCKS):
        made = case(seed, WIDE)
        cluster = made.cluster
        events = [
            *namespaces(cluster.namespaces),
            *machines(cluster.nodes.values()),
            *Classes().bound(cluster.pods),
        ]
        scheduler = scheduler_of(events)
        before = list(scheduler.task_states()), list(scheduler.machine_states())
        running = {uid for uid, pod in cluster.pods.items() if not pod.terminating and pod.node}
        moves = planned(scheduler, dict.fromkeys(running))
        assert (list(scheduler.task_states()), list(scheduler.machine_states())) == before
        validate(scheduler._cluster)
        left = cluster.copy()
        for move in moves:
            assert cluster.pods[move.uid].node == move.source
            del left.pods[move.uid]
        specs = {move.uid: cluster.pods[move.uid].spec for move in moves}
        outcome = check(left, specs, _in_an_order_that_works(left, specs, moves))
        assert (outcome.faults, outcome.pending) == ((), {}), f"seed {seed}"
        moved += len(moves)
    assert moved > 20


def _in_an_order_that_works(
    left: Cluster, specs: Mapping[str, PodSpec], moves: Sequence[PricedMove]
) -> list[Delta]:
    """Places one after another, those first that are allowed at once: some need others near them."""
    cluster, waiting, order = left.copy(), list(moves), list[Delta]()
    while waiting:
        found = next(
            (each for each in waiting if each.target in accepting_nodes(cluster, specs[each.uid])), waiting[0]
        )
        waiting.remove(found)
        order.append(Delta(DeltaKind.PLACE, found.uid, found.target))
        cluster.pods[found.uid] = Pod(specs[found.uid], found.target)
    return order


@pytest.mark.parametrize("seed", range(8))
def test_costs_fall_by_the_price_of_each_move_until_nobody_moves_any_more(seed: int):
    running = random_cluster(random.Random(seed), 30, fill=0.5)
    scheduler = scheduler_of(running.events())
    places = {uid: machine for uid, (machine, _) in running.tasks.items()}
    plan = plan_moves(scheduler, dict.fromkeys(running.tasks, 0.0), PlanOptions(PRICE), OrToolsSolver())
    most = (plan.cost_before - plan.bound) / PRICE
    total, costs = 0, [plan.cost_before]
    while plan.moves:
        assert plan.cost_after + PRICE * len(plan.moves) <= plan.cost_before
        assert plan.cost_after + PRICE * len(plan.moves) >= plan.bound
        total += len(plan.moves)
        for move in plan.moves:
            assert places[move.uid] == move.source
            places[move.uid] = move.target
        assert running.holds(places, ())
        carry_out(scheduler, plan.moves, 1_000_000 + 1_000 * len(costs))
        plan = plan_moves(scheduler, dict.fromkeys(running.tasks, 0.0), PlanOptions(PRICE), OrToolsSolver())
        assert plan.cost_before == pytest.approx(costs[-1] if total == 0 else plan.cost_before)
        costs.append(plan.cost_before)
    assert costs == sorted(costs, reverse=True)
    assert 0 < total <= most


def test_a_settled_cluster_stays_as_it_is():
    running = random_cluster(random.Random(3), 20, fill=0.4)
    scheduler = scheduler_of(running.events())
    for number in range(10):
        moves = planned(scheduler, running.tasks)
        carry_out(scheduler, moves, 1_000_000 + 1_000 * number)
        if not moves:
            break
    for _ in range(examples(1000)):
        assert planned(scheduler, running.tasks) == ()


def test_no_more_move_than_are_allowed_and_those_that_gain_most():
    running = random_cluster(random.Random(5), 40, fill=0.5)
    scheduler = scheduler_of(running.events())
    every = planned(scheduler, running.tasks)
    few = planned(scheduler, running.tasks, most_moves=5)
    assert 0 < len(few) <= 5 < len(every)
    assert min(move.gain for move in few) >= sorted(move.gain for move in every)[-20]


def test_a_task_with_a_price_of_its_own_moves_only_for_more_than_that():
    running = Running({"a": (8, 8), "b": (8, 8)}, {f"t{index}": ("a", (1, 1)) for index in range(6)})
    scheduler = scheduler_of(running.events())
    free = plan_moves(scheduler, dict.fromkeys(running.tasks, 0.0), PlanOptions(0.0), OrToolsSolver())
    dear = dict.fromkeys(running.tasks, 1000.0) | {"t4": 0.0}
    assert len(free.moves) == 3
    only = plan_moves(scheduler, dear, PlanOptions(0.0), OrToolsSolver())
    assert [move.uid for move in only.moves] == ["t4"]


def test_whom_nobody_may_move_is_not_looked_at():
    running = random_cluster(random.Random(5), 5, fill=0.5)
    plan = plan_moves(scheduler_of(running.events()), {}, PlanOptions(), OrToolsSolver())
    assert (plan.moves, plan.cost_before) == ((), 0.0)


def test_tasks_that_must_be_apart_do_not_meet_by_moving():
    apart = TaskClass(
        (("cpu", 1000),),
        labels=(("app", "a"),),
        anti_affinity=(TaskTerm("kubernetes.io/hostname", TaskSelector(labels=())),),
    )
    machines_ = [
        MachineUpserted(Machine(name, {"cpu": 8000, "pods": 20}, {"kubernetes.io/hostname": name}))
        for name in ("a", "b", "c")
    ]
    filler = TaskClass((("cpu", 5000),))
    scheduler = scheduler_of(
        [
            *machines_,
            ClassDefined(1, apart),
            ClassDefined(2, filler),
            TasksBound("a", 1, ("x",)),
            TasksBound("a", 2, ("f",)),
            TasksBound("b", 1, ("y",)),
        ]
    )
    moves = plan_moves(scheduler, {"x": 0.0, "y": 0.0}, PlanOptions(0.0), OrToolsSolver()).moves
    assert [(move.uid, move.target) for move in moves] == [("x", "c")]

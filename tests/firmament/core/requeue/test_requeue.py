"""Who takes part in a round, who is left for a later one, and in how many seconds a round could help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import BindingReport
from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement, TaskClass
from firmament.core.requeue.requeue import RETRY_SECONDS, CostlyRetries
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import START, Clock, machine, placed, scheduler, task_class, tasks, uids


def dear(number: int, **content: object) -> TaskClass:
    """A class for whose preferences a round looks 300 times at each machine; ``number`` tells it from others."""
    terms = tuple(
        PreferredTerm(1, NodeSelectorTerm((Requirement(f"key-{number}-{each}", "Exists"),)))
        for each in range(299)
    )
    return replace(task_class(), preferred=terms, **content)  # type: ignore[arg-type]  # fields by name


def test_tasks_of_other_profiles_and_those_beyond_a_budget_are_left_for_a_later_round():
    policy = WeightedModel(load_model("cpu_mem", {}))
    configuration = CoreConfiguration(
        policy,
        options=RoundOptions(class_checks=0, namespace_checks=1000),
        profiles={"batch": CoreConfiguration(policy)},
    )
    core = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock())
    core.apply([machine(), *tasks(1, *uids("job", 2), content=task_class(profile="batch"), priority=-1)])
    for number in range(2, 7):
        core.apply(tasks(number, f"dear-{number}", content=dear(number, namespace="heavy")))
    result = core.run_round()
    assert len(placed(result)) == 3
    assert result.put_off == 2 + 2, "two of another profile, and two for which a round has no checks left"
    left = []
    while core.next_round_in() == 0.0:
        left.append(core.run_round().put_off)
    assert left[-1] == 0


# --- when the next round is due ---------------------------------------------------------------------------------------


def refused(core: Scheduler, uid: str) -> None:
    """Let the binding of a placed task fail, so that the task backs off."""
    core.apply([])
    core.report([BindingReport(uid, "m", bound=False, reason="no", retry=True)])


def test_a_task_that_backs_off_takes_part_at_the_second_at_which_its_back_off_ends():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "a", "b"), clock=clock)
    assert set(placed(core.run_round())) == {"a", "b"}
    for uid in ("a", "b"):
        refused(core, uid)
    table = core._cluster.tasks
    table.not_before[[table.row_of[uid] for uid in ("a", "b")]] = START + 5.0, START + 9.0
    assert core.next_round_in() == 5.0, "for the first of them"
    clock.now = START + 4.0
    assert (placed(core.run_round()), core.next_round_in()) == ({}, 1.0)
    clock.now = START + 5.0
    assert (core.next_round_in(), set(placed(core.run_round()))) == (0.0, {"a"})
    clock.now = START + 20.0
    assert core.next_round_in() == 0.0, "never less"


def test_a_back_off_is_waited_for_beside_unschedulable_tasks_too():
    clock = Clock()
    core = scheduler(
        machine("m"), tasks(1, "a", "b"), tasks(2, "large", content=task_class(cpu=10**9)), clock=clock
    )
    assert set(placed(core.run_round())) == {"a", "b"}
    refused(core, "a")
    core._cluster.tasks.not_before[core._cluster.tasks.row_of["a"]] = START + 5.0
    assert core.next_round_in() == 5.0


# --- classes that are too expensive to be checked against every change ---------------------------------------------


def test_expensive_tasks_are_retried_some_time_after_the_first_change_and_others_checked_at_once():
    clock = Clock()
    core = scheduler(
        machine("m", cpu=1),
        tasks(1, "light", content=task_class(namespace="light")),
        options=RoundOptions(class_checks=0, namespace_checks=1000),
        clock=clock,
    )
    for number in range(2, 7):
        core.apply(tasks(number, f"dear-{number}", content=dear(number, namespace="heavy")))
    while core.next_round_in() == 0.0:
        core.run_round()
    table, retries = core._cluster.tasks, CostlyRetries(core._cluster, core._requeue.budgets, clock)
    everybody = table.list_unschedulable()
    assert len(everybody) == 6
    assert (retries.next_in(START), retries.refresh()) == (None, False), "nothing has changed"
    light = [table.row_of["light"]]
    assert retries.choose(everybody).tolist() == light
    clock.now = START + 3.0
    assert retries.choose(everybody).tolist() == light, "a second change puts nothing off"
    assert retries.next_in(START + 3.0) == RETRY_SECONDS - 3.0
    assert (retries.refresh(), len(table.list_unschedulable())) == (False, 6)
    clock.now = START + RETRY_SECONDS
    assert retries.next_in(clock.now) == 0.0
    assert retries.refresh()
    assert table.list_unschedulable().tolist() == light
    assert (retries.next_in(clock.now), retries.refresh()) == (None, False), "once"
    assert retries.choose(np.array(light)).tolist() == light
    assert retries.since is None, "there is nobody to be retried"

"""A question never touches live state: all that a scheduler holds is the same before and after ``explain``."""

from __future__ import annotations

import pytest

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.constraints.team_isolation import TeamIsolation
from tests.programs.differential.drive import core as random_core
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes
from tests.support.contents import contents, differences
from tests.support.core import Clock, machine, task_class, uids

WORKED_OUT = frozenset(
    {
        ("Scheduler", "_solver"),
        ("StaticRows", "_rows"),
        ("StaticRows", "_shared"),
        ("LabelIndex", "_columns"),  # built when a key is first asked for
        ("LabelIndex", "_nowhere"),
    }
)
"""What is kept of answers, so that the next one costs less; it says the same whether or not it has been asked for."""


def every_kind() -> Scheduler:
    """Tasks that wait, are assumed, bound, in a gang, in a group that spreads, under a model's constraint."""
    made = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model("cpu_mem", {})),
            overlays=(WeightedModel(TeamIsolation()), WeightedModel(load_model("load_threshold", {}))),
            spread=SYSTEM_DEFAULTS,
        ),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    labels = {"topology.kubernetes.io/zone": "a", "rack": "r"}
    events: list[Event] = [machine(f"m{index}", labels=labels) for index in range(3)]
    events += [
        ClassDefined(1, task_class(500, labels=(("team", "x"),))),
        ClassDefined(2, task_class(0)),
        ClassDefined(3, task_class(99_000)),
        JobDefined(Job("gang", min_members=2)),
        TasksBound("m0", 1, ("bound",)),
        TasksBound("unknown", 1, ("elsewhere",)),
        TasksSubmitted(1, uids("new", 3)),
        TasksSubmitted(2, uids("spread", 2), spread_group="g"),
        TasksSubmitted(3, ("large",), priority=7),
        TasksSubmitted(2, uids("gang", 2), job="gang"),
    ]
    made.apply(events)
    made.run_round()
    made.apply([TasksSubmitted(1, uids("newer", 2))])
    return made


def make_scheduler(number: int) -> Scheduler:
    """The one that has every kind of thing, or one at random."""
    if not number:
        return every_kind()
    made = random_core(case(number - 1, WIDE), Classes())
    made.run_round()
    return made


@pytest.mark.parametrize("number", range(7))
def test_all_is_as_before_after_an_explanation(number: int):
    made = make_scheduler(number)
    for task in list(made.task_states())[:12]:
        before = contents(made, WORKED_OUT)
        made.explain(task.uid)
        assert not differences(before, contents(made, WORKED_OUT)), task.uid


def test_a_change_is_seen():
    made = every_kind()
    before = contents(made, WORKED_OUT)
    made.apply([TasksBound("m1", 2, ("another",))])
    assert any("tasks" in path for path in differences(before, contents(made, WORKED_OUT)))

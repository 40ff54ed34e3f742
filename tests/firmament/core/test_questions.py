"""Questions about a cluster: what is known of tasks, by uid."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.events import BindingReport, ClassDefined, TasksBound, TasksSubmitted
from firmament.core.questions import UnknownTaskError
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, scheduler, task_class


def core() -> Scheduler:
    """Two tasks that wait, one of them too large, and one on a machine."""
    return scheduler(
        machine("m", cpu=1000),
        machine("n", cpu=100),
        ClassDefined(1, task_class(500)),
        ClassDefined(2, task_class(5000)),
        TasksBound("m", 1, ("bound",)),
        TasksSubmitted(1, ("waits",)),
        TasksSubmitted(2, ("large",)),
    )


def test_who_is_unknown_is_named():
    made = core()
    for ask in (made.explain, made.get_bound_task):
        with pytest.raises(UnknownTaskError, match="nobody"):
            ask("nobody")
    assert made.snapshot_of_running(["nobody"]) is None
    assert made.divide_by_profile(["nobody", "waits"]) == [["waits"]]
    assert [made.knows(uid) for uid in ("waits", "bound", "nobody")] == [True, True, False]


def test_placed_tasks_are_assumed_until_their_binding_is_reported():
    made = core()
    assert (made.count_assumed(), made.list_assumed()) == (0, set())
    made.run_round()
    assert (made.count_assumed(), made.list_assumed()) == (1, {"waits"})
    made.report([BindingReport("waits", "m", bound=True)])
    assert (made.count_assumed(), made.list_assumed()) == (0, set())


def test_a_task_is_explained_by_its_own_uid():
    made = core()
    found = made.explain("large")
    assert (found.uid, found.state, found.machine) == ("large", "PENDING", "")
    assert [(each.machine, each.feasible) for each in found.machines] == [("m", False), ("n", False)]
    assert [(each.machine, each.feasible) for each in made.explain("bound").machines] == [
        ("m", True), ("n", False),
    ]  # fmt: skip
    assert made.explain("bound").machine == "m"


def test_tasks_and_machines_are_listed():
    made = core()
    assert [(each.uid, each.state) for each in made.task_states()] == [
        ("bound", "BOUND"), ("large", "PENDING"), ("waits", "PENDING"),
    ]  # fmt: skip
    assert [(each.name, each.tasks, each.free["cpu"]) for each in made.machine_states()] == [
        ("m", 1, 500), ("n", 0, 100),
    ]  # fmt: skip
    assert len(made.list_events().waiting) == 2


def test_open_machines_are_those_that_rules_about_machines_allow():
    made = core()
    made.apply([machine("n", cpu=100, cordoned=True)])
    (found,) = made.find_open_machines(["waits"], ["n", "m"])
    assert np.asarray(found).tolist() == [False, True]


def test_running_tasks_can_be_posed_anew():
    found = core().snapshot_of_running(["bound", "nobody", "waits"])
    assert found is not None
    assert found.snapshot.problem.counts.sum() == 1
    assert found.home.tolist() == [0]


def test_classes_are_named_in_the_order_in_which_they_are_asked_for():
    made = core()
    made.apply([TasksSubmitted(1, ("named",), names=("team/named",), priority=3, job="j")])
    words = made.class_words(["waits", "gone", "named", "bound"])
    assert [each.name for each in words] == ["waits", "gone", "team/named", "bound"]
    assert [(each.job, each.priority) for each in words] == [("", 0), ("", 0), ("j", 3), ("", 0)]

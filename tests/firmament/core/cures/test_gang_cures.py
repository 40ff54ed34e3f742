"""Changes after which all tasks of a gang or class would have places: how large they are, and which are tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from firmament.core.changes import CureKind
from firmament.core.cures.gang_cures import cures_together
from firmament.core.cures.proposals import Cure
from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job, Machine, Taint, TaskClass
from firmament.core.rescheduling.trials import Trials
from tests.firmament.core.cures.test_cures import scheduler
from tests.support.core import GIB


def node(name: str, cpu: int = 4000, memory: int = 8 * GIB, pods: int = 10, **described: Any) -> Machine:
    return Machine(name, {"cpu": cpu, "memory": memory, "pods": pods}, **described)


class Waiting:
    """So many tasks of one class, of a gang unless ``gang`` says otherwise."""

    def __init__(
        self,
        size: int,
        *nodes: Machine,
        requests: Mapping[str, int],
        gang: bool = True,
        bound: Mapping[str, int] | None = None,
        second: TaskClass | None = None,
        **content: Any,
    ) -> None:
        job = Job("g", min_members=size if gang else 0)
        events: list[Event] = [
            *(MachineUpserted(each) for each in nodes),
            ClassDefined(1, TaskClass(tuple(requests.items()), **content)),
            ClassDefined(2, TaskClass(tuple((bound or {"cpu": 1}).items()))),
            ClassDefined(3, second or TaskClass((("cpu", 1),))),
            JobDefined(job),
        ]
        if bound:
            events.append(TasksBound(nodes[0].name, 2, ("runs",)))
        self.trials = Trials(scheduler(), events)
        self.job = job if gang else None
        uids = tuple(f"t{number}" for number in range(size))
        self.tasks = [TasksSubmitted(1, uids, job="g" if gang else "")]
        if second is not None:
            self.tasks.append(TasksSubmitted(3, ("other",), job="g" if gang else ""))

    def cures(self, tries: int = 30) -> list[Cure]:
        return list(cures_together(self.trials, self.tasks, self.job, tries))

    def steps(self, tries: int = 30) -> list[list[tuple[CureKind, str, object, object]]]:
        """Kind, subject, and what was and would be, of each step of each cure."""
        return [
            [(step.kind, step.subject, step.before, step.after) for step in cure.steps]
            for cure in self.cures(tries)
        ]


LOWER, FEWER, ADD = CureKind.LOWER_REQUEST, CureKind.FEWER, CureKind.ADD_MACHINE


class TestSmallerRequests:
    @pytest.mark.parametrize(
        ("size", "asked", "after"),
        [(3, 3000, 2000), (4, 3000, 2000), (5, 3000, 1333), (2, 5000, 4000), (9, 4001, 800)],
    )
    def test_the_largest_amount_with_which_all_fit_is_found(self, size: int, asked: int, after: int):
        waiting = Waiting(size, node("a"), node("b"), requests={"cpu": asked})
        assert waiting.steps()[0] == [(LOWER, "cpu", asked, after)]

    def test_each_resource_is_lowered_alone_if_that_is_enough(self):
        """Memory is what lacks: three of 4 GiB on 8 GiB."""
        waiting = Waiting(3, node("a"), requests={"cpu": 1000, "memory": 4 * GIB})
        first, *others = waiting.steps()
        assert first == [(LOWER, "memory", 4 * GIB, 8 * GIB // 3)]
        assert all(steps[0][0] is not LOWER for steps in others), "one of a kind is enough"

    def test_both_are_lowered_if_both_lack_and_none_more_than_must_be(self):
        waiting = Waiting(4, node("a"), requests={"cpu": 2000, "memory": 3 * GIB})
        assert waiting.steps()[0] == [(LOWER, "cpu", 2000, 1000), (LOWER, "memory", 3 * GIB, 2 * GIB)]

    def test_nothing_is_lowered_where_too_few_tasks_may_be_on_the_machines(self):
        waiting = Waiting(3, node("a", pods=2), requests={"cpu": 1000})
        assert {steps[0][0] for steps in waiting.steps()} == {FEWER, ADD}

    def test_a_request_is_never_lowered_to_nothing(self):
        waiting = Waiting(3, node("a", cpu=2), requests={"cpu": 2})
        assert {steps[0][0] for steps in waiting.steps()} == {FEWER, ADD}

    def test_what_others_use_is_not_there(self):
        waiting = Waiting(2, node("a"), node("b"), requests={"cpu": 3000}, bound={"cpu": 2500})
        assert waiting.steps()[0] == [(LOWER, "cpu", 3000, 2000)]

    def test_machines_that_refuse_the_tasks_do_not_count(self):
        closed = node("b", taints=(Taint("t", "", "NoSchedule"),))
        waiting = Waiting(2, node("a"), closed, requests={"cpu": 3000})
        assert (LOWER, "cpu", 3000, 2000) in waiting.steps()[0]


class TestFewerTasks:
    @pytest.mark.parametrize(("size", "nodes", "after"), [(3, 2, 2), (5, 2, 2), (9, 4, 4), (2, 1, 1)])
    def test_the_largest_gang_that_fits_is_proposed(self, size: int, nodes: int, after: int):
        waiting = Waiting(size, *(node(f"m{n}") for n in range(nodes)), requests={"cpu": 3000})
        (found,) = [cure for cure in waiting.cures() if cure.steps[0].kind is FEWER]
        assert (found.steps[0].before, found.steps[0].after, found.together) == (size, after, after)

    def test_a_class_without_gang_has_no_fewer(self):
        waiting = Waiting(3, node("a"), requests={"cpu": 3000}, gang=False)
        assert {steps[0][0] for steps in waiting.steps()} == {LOWER, ADD}

    def test_a_gang_of_which_nobody_fits_has_no_fewer(self):
        waiting = Waiting(2, node("a"), requests={"cpu": 5000})
        assert {steps[0][0] for steps in waiting.steps()} == {LOWER}


class TestMoreMachines:
    @pytest.mark.parametrize(
        ("size", "requests", "after"),
        [(3, 3000, 2), (2, 3000, 1), (5, 2000, 2), (6, 2000, 2), (7, 2000, 3), (101, 4000, 100)],
    )
    def test_as_many_as_the_tasks_that_lack_a_place_need(self, size: int, requests: int, after: int):
        waiting = Waiting(size, node("a"), requests={"cpu": requests})
        (found,) = [cure for cure in waiting.cures() if cure.steps[0].kind is ADD]
        assert (found.steps[0].machine, found.steps[0].after, found.together) == ("a", after, size)

    def test_no_more_than_a_hundred(self):
        waiting = Waiting(102, node("a"), requests={"cpu": 4000})
        assert ADD not in {steps[0][0] for steps in waiting.steps()}

    def test_they_are_like_the_machine_of_which_the_fewest_are_needed(self):
        waiting = Waiting(
            9, node("a", cpu=3000), node("c", cpu=9000), node("b", cpu=9000), requests={"cpu": 3000}
        )
        (found,) = [cure for cure in waiting.cures() if cure.steps[0].kind is ADD]
        assert (found.steps[0].machine, found.steps[0].after) == ("b", 1), "of equal ones the first by name"

    def test_an_empty_machine_counts_even_if_the_present_one_is_full(self):
        waiting = Waiting(1, node("a"), requests={"cpu": 3000}, bound={"cpu": 2000})
        (found,) = [cure for cure in waiting.cures() if cure.steps[0].kind is ADD]
        assert (found.steps[0].machine, found.steps[0].after) == ("a", 1)

    def test_none_is_added_if_all_have_places_or_no_machine_is_large_enough(self):
        assert Waiting(1, node("a"), requests={"cpu": 3000}).steps() == []
        assert Waiting(2, node("a", cpu=1000), requests={"cpu": 3000}).steps() == [
            [(LOWER, "cpu", 3000, 500)]
        ]


class TestTries:
    def test_so_many_changes_are_tried_and_no_more(self):
        waiting = Waiting(3, node("a"), requests={"cpu": 3000})
        kinds = [[steps[0][0] for steps in waiting.steps(tries)] for tries in range(5)]
        assert kinds == [[], [LOWER], [LOWER, FEWER], [LOWER, FEWER, ADD], [LOWER, FEWER, ADD]]

    def test_tasks_of_several_classes_have_no_cure_together(self):
        waiting = Waiting(2, node("a"), requests={"cpu": 3000}, second=TaskClass((("cpu", 100),)))
        assert waiting.steps() == []

    def test_wider_rules_come_after_smaller_requests(self):
        taint = Taint("dedicated", "batch", "NoSchedule")
        waiting = Waiting(2, node("a"), node("b", taints=(taint,)), requests={"cpu": 3000})
        kinds = [steps[0][0] for steps in waiting.steps()]
        assert kinds == [LOWER, CureKind.TOLERATE, FEWER, ADD]
        (found,) = [cure for cure in waiting.cures() if cure.steps[0].kind is CureKind.TOLERATE]
        assert (found.steps[0].subject, found.together) == ("dedicated=batch:NoSchedule", 2)

    def test_changes_of_a_machine_are_no_wider_rules(self):
        waiting = Waiting(2, node("a"), node("b", unschedulable=True), requests={"cpu": 3000})
        assert CureKind.UNCORDON not in {steps[0][0] for steps in waiting.steps()}

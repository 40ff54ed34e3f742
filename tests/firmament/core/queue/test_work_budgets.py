"""What one namespace asks for beyond its budget waits for rounds of its own; others wait for one of these at most."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import ClassDefined, Event, JobDefined, RecordUpserted, TaskRemoved, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import (
    Job,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.queue.class_work import ORDINARY, count_group_checks
from firmament.core.queue.work_budgets import PUT_OFF, Budgets
from firmament.core.requeue.requeue import RETRY_SECONDS
from firmament.core.results import RoundResult
from firmament.core.rules.registry import default_rules
from firmament.core.scheduler import Scheduler
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import hold_back
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, placed, scheduler, task_class, uids
from tests.support.effort import examples

RULES = default_rules()

MOST = 1_000
"""Looks that a namespace has, where there is one machine."""

DEAR = 300
"""Looks of an expensive class: three fit."""


def wanting(looked: int, number: int = 0, **content: object) -> TaskClass:
    """A class for which a round looks so often at each machine; ``number`` tells it from others."""
    terms = tuple(
        PreferredTerm(1, NodeSelectorTerm((Requirement(f"key-{number}-{each}", "Exists"),)))
        for each in range(looked - 1)
    )
    made = replace(task_class(), preferred=terms, **content)  # type: ignore[arg-type]  # fields by name
    assert RULES.count_checks(made) == looked
    return made


def submitted(number: int, namespace: str, count: int, looked: int, **more: object) -> list[Event]:
    """So many tasks of a class of their own, ``NAMESPACE-NUMBER-0`` and so on."""
    some = uids(f"{namespace}-{number}", count)
    names = tuple(f"{namespace}/{uid}" for uid in some)
    return [
        ClassDefined(number, wanting(looked, number)),
        TasksSubmitted(number, some, names=names, **more),  # type: ignore[arg-type]  # fields by name
    ]


class Queue:
    """The waiting tasks of one machine's cluster; ``round`` says which of them take part, and lets these go."""

    def __init__(self, *events: Iterable[Event]) -> None:
        self.cluster = Cluster()
        self.budgets = Budgets(self.cluster, RULES, MOST, 0)
        self.apply([machine()], *events)

    def apply(self, *events: Iterable[Event]) -> None:
        apply_events(self.cluster, [each for some in events for each in some], 0.0)

    def waiting(self) -> list[int]:
        tasks = self.cluster.tasks
        pending = tasks.in_state(TaskPhase.PENDING)
        return pending[~tasks.unschedulable[pending]].tolist()

    def round(self) -> list[str]:
        chosen = self.budgets.choose(np.array(self.waiting(), dtype=np.int64))
        hold_back(self.cluster, chosen)
        return sorted(self.cluster.tasks.uid[row] for row in chosen.tolist())


def test_what_is_within_the_budget_goes_at_once():
    queue = Queue(submitted(1, "a", 3, 1), submitted(2, "b", 2, DEAR), submitted(3, "b", 1, DEAR))
    assert len(queue.round()) == 6
    assert queue.budgets.put_off == 0


def test_what_is_beyond_waits_until_the_others_have_had_their_round():
    queue = Queue(
        submitted(1, "light", 3, 1), *(submitted(number, "heavy", 1, DEAR) for number in range(2, 7))
    )
    assert queue.round() == ["light-1-0", "light-1-1", "light-1-2"]
    assert queue.budgets.put_off == 5
    assert queue.round() == ["heavy-2-0", "heavy-3-0", "heavy-4-0"]
    assert queue.budgets.put_off == 2
    assert queue.round() == ["heavy-5-0", "heavy-6-0"]
    assert not queue.waiting()


def test_ordinary_tasks_of_a_namespace_do_not_wait_for_its_expensive_ones():
    queue = Queue(
        submitted(1, "heavy", 3, ORDINARY), *(submitted(number, "heavy", 1, DEAR) for number in range(2, 7))
    )
    assert queue.round() == ["heavy-1-0", "heavy-1-1", "heavy-1-2"]


def test_ordinary_classes_of_a_namespace_that_is_alone_have_two_budgets_at_a_time():
    queue = Queue(*(submitted(number, "heavy", 1, ORDINARY) for number in range(1, 50)))
    assert [len(queue.round()) for _ in range(2)] == [31, 18]
    assert not queue.waiting()


def test_within_two_budgets_a_namespace_that_is_alone_goes_at_once():
    queue = Queue(*(submitted(number, "heavy", 30, ORDINARY) for number in range(1, 32)))
    assert len(queue.round()) == 31 * 30
    assert queue.budgets.put_off == 0


def test_ordinary_classes_that_are_too_many_wait_for_others():
    many = [submitted(number, "heavy", 1, ORDINARY) for number in range(1, 50)]
    queue = Queue(*many, submitted(50, "light", 1, 1))
    assert queue.round() == ["light-50-0"]
    assert [len(queue.round()) for _ in range(2)] == [31, 18]


def test_who_comes_during_a_round_of_a_namespace_that_is_alone_goes_next():
    queue = Queue(*(submitted(number, "heavy", 1, ORDINARY) for number in range(1, 100)))
    assert len(queue.round()) == 31
    queue.apply(submitted(100, "light", 1, 1))
    assert queue.round() == ["light-100-0"]


def test_many_classes_take_time_however_few_machines_there_are():
    some = Queue(*(submitted(number, "heavy", 1, 2) for number in range(1, 50)))
    some.budgets = Budgets(some.cluster, RULES, MOST, 98)
    assert [len(some.round()) for _ in range(3)] == [20, 20, 9]


@pytest.mark.parametrize(("looked", "rounds"), [(1, [50]), (2, [33, 17])])
def test_classes_without_rules_are_counted_together(looked: int, rounds: list[int]):
    some = Queue(
        [machine(f"m{each}") for each in range(999)],
        *(submitted(number, "heavy", 1, looked) for number in range(1, 51)),
    )
    some.budgets = Budgets(some.cluster, RULES, 200 * 1_000, 10_000)
    assert [len(some.round()) for _ in rounds] == rounds


def test_ordinary_and_expensive_classes_of_one_namespace_share_rounds_of_their_own():
    ordinary = [submitted(number, "heavy", 1, ORDINARY) for number in range(1, 50)]
    dear = [submitted(number, "heavy", 1, DEAR) for number in range(50, 58)]
    queue = Queue(*ordinary, *dear)
    rounds = [queue.round() for _ in range(3)]
    assert [sum(int(uid.split("-")[1]) < 50 for uid in each) for each in rounds] == [15, 15, 19]
    assert [sum(int(uid.split("-")[1]) >= 50 for uid in each) for each in rounds] == [3, 3, 2]


def test_ordinary_classes_of_two_namespaces_take_turns():
    queue = Queue(*(submitted(number, "ab"[number > 40], 1, ORDINARY) for number in range(1, 81)))
    first = queue.round()
    assert abs(sum(uid.startswith("a") for uid in first) - len(first) / 2) <= 1


def test_light_tasks_wait_for_one_round_of_the_others_at_most():
    queue = Queue(*(submitted(number, "heavy", 1, DEAR) for number in range(1, 30)))
    before = 0
    for number in range(30, 50):
        queue.apply(submitted(number, "light", 1, 1))
        found = queue.round()
        before = 0 if f"light-{number}-0" in found else before + 1
        assert before <= 1


def test_copies_of_an_expensive_task_are_taken_by_and_by():
    queue = Queue(submitted(1, "heavy", 40, DEAR), submitted(2, "light", 1, 1))
    assert queue.round() == ["light-2-0"]
    first = queue.round()
    assert 0 < len(first) < 40
    rounds = 1
    while queue.waiting():
        assert queue.round()
        rounds += 1
    assert rounds == 2  # what is left is within the budget


def test_a_gang_is_not_split_and_goes_although_it_is_too_much():
    gang = [JobDefined(Job("gang", min_members=5))]
    members = [submitted(number, "heavy", 1, DEAR, job="gang") for number in range(1, 6)]
    queue = Queue(gang, *members, submitted(9, "light", 1, 1))
    assert queue.round() == ["light-9-0"]
    assert queue.round() == [f"heavy-{number}-0" for number in range(1, 6)]


def test_heavy_namespaces_take_turns():
    queue = Queue(*(submitted(number, f"n{number % 3}", 1, 4 * DEAR) for number in range(1, 10)))
    assert [queue.round()[0].partition("-")[0] for _ in range(9)] == ["n0", "n1", "n2"] * 3


def test_the_important_and_those_put_off_longest_come_first_by_turns():
    queue = Queue(*(submitted(number, "heavy", 1, 4 * DEAR) for number in range(1, 5)))
    assert queue.round() == ["heavy-1-0"]
    queue.apply(submitted(9, "heavy", 1, 4 * DEAR, priority=7))
    queue.apply(submitted(10, "heavy", 1, 4 * DEAR, priority=7))
    assert [queue.round() for _ in range(4)] == [["heavy-2-0"], ["heavy-9-0"], ["heavy-3-0"], ["heavy-10-0"]]


HEAPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.integers(1, 12),
        st.sampled_from([1, 20, ORDINARY, ORDINARY + 1, DEAR, 5 * DEAR]),
        st.integers(0, 2),
        st.booleans(),
    ),
    min_size=1,
    max_size=15,
)


@given(heaps=HEAPS, light=st.booleans())
@settings(max_examples=examples(150))
def test_every_task_has_its_round_gangs_as_a_whole_and_none_is_empty(
    heaps: list[tuple[str, int, int, int, bool]], light: bool
):
    queue = Queue()
    gangs: dict[str, set[str]] = {}
    for number, (namespace, count, looked, priority, gang) in enumerate(heaps, 1):
        job = f"job-{number}" if gang else ""
        queue.apply([JobDefined(Job(job, min_members=count))] if gang and count > 1 else [])
        queue.apply(submitted(number, namespace, count, looked, priority=priority, job=job))
        if gang and count > 1:
            gangs[job] = set(uids(f"{namespace}-{number}", count))
    rounds = most = 2 * sum(count for _, count, *_ in heaps) + 2
    while waiting := set(queue.waiting()):
        assert rounds > 0, f"still waiting after {most} rounds: {waiting}"
        rounds -= 1
        if light and rounds > most // 2:
            queue.apply(submitted(1_000 + rounds, "light", 1, 1))
        found = set(queue.round())
        assert found
        for members in gangs.values():
            assert not found & members or members <= found


# --- in rounds -------------------------------------------------------------------------------------------------------


def apart(number: int) -> TaskClass:
    """An expensive class that keeps off all tasks whose app is ``x``; its own is."""
    selector = TaskSelector((Requirement("app", "In", ("x",)),), namespaces=("heavy",))
    made = wanting(DEAR, number, labels=(("app", "x"),), namespace="heavy")
    return replace(made, anti_affinity=(TaskTerm("host", selector),))


def crowded(options: RoundOptions, clock: Clock | None = None, machines: int = 6) -> Scheduler:
    """Eight expensive tasks of one namespace, one machine for each; and ten of another."""
    names = tuple(f"light/{number}" for number in range(10))
    events: list[Event] = [
        ClassDefined(99, task_class(namespace="light")),
        TasksSubmitted(99, uids("light", 10), names=names),
    ]
    for number in range(1, 9):
        events.append(ClassDefined(number, apart(number)))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), names=(f"heavy/{number}",)))
    events += [machine(f"m{number}", labels={"host": f"m{number}"}) for number in range(machines)]
    return scheduler(events, options=options, clock=clock)


def until_quiet(core: Scheduler) -> list[RoundResult]:
    results = []
    while core.next_round_in() == 0.0:
        results.append(core.run_round())
        assert len(results) < 100
    return results


def test_rounds_of_their_own_place_what_one_round_would_have_placed_and_keep_rules():
    tight = RoundOptions(class_checks=0, namespace_checks=6 * MOST)
    core = crowded(tight)
    results = [core.run_round()]
    assert {state.uid for state in core.task_states() if state.message == PUT_OFF} == {
        f"heavy-{number}" for number in range(1, 9)
    }
    results += until_quiet(core)
    assert set(placed(results[0])) == set(uids("light", 10))
    assert results[0].put_off == 8
    heavy = [where for each in results for uid, where in placed(each).items() if uid.startswith("heavy")]
    assert len(heavy) == len(set(heavy)) == 6
    at_once = [crowded(RoundOptions()).run_round()]
    assert sum(len(placed(each)) for each in results) == len(placed(at_once[0])) == 16
    told = {uid for each in results for group in each.unscheduled for uid in group.uids}
    assert len(told) == 2


def test_expensive_tasks_without_a_place_are_tried_again_some_time_after_a_change():
    clock = Clock()
    core = crowded(RoundOptions(class_checks=0, namespace_checks=MOST), clock, machines=1)
    until_quiet(core)
    core.apply([machine("new", labels={"host": "new"})])
    assert core.next_round_in() == RETRY_SECONDS
    clock.advance(RETRY_SECONDS)
    assert core.next_round_in() == 0.0
    assert "new" in {where for each in until_quiet(core) for where in placed(each).values()}


def test_too_many_kinds_without_a_place_are_tried_again_some_time_after_a_change():
    clock = Clock()
    events: list[Event] = [machine("m", cpu=1)]
    for number in range(1, 40):
        content = task_class(cpu=10 + number, namespace="heavy")
        events += [ClassDefined(number, content), TasksSubmitted(number, (f"heavy-{number}",))]
    light = task_class(cpu=5, namespace="light")
    events += [ClassDefined(99, light), TasksSubmitted(99, ("light",))]
    core = scheduler(events, options=RoundOptions(class_checks=99, namespace_checks=MOST), clock=clock)
    until_quiet(core)
    assert not any(placed(each) for each in until_quiet(core))
    core.apply([machine("new", cpu=500)])
    assert [set(placed(each)) for each in until_quiet(core)] == [{"light"}]
    clock.advance(RETRY_SECONDS)
    assert any(placed(each) for each in until_quiet(core))


def test_ordinary_classes_that_select_each_other_are_expensive_together():
    everyone = TaskSelector(namespaces=("heavy",))
    events: list[Event] = [machine(f"m{number}", labels={"host": f"m{number}"}) for number in range(20)]
    for number in range(1, 41):
        content = task_class(cpu=number, namespace="heavy", anti_affinity=(TaskTerm("host", everyone),))
        events.append(ClassDefined(number, content))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), names=(f"heavy/{number}",)))
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=50 * MOST))
    results = until_quiet(core)
    assert 1 < sum(1 for each in results if each.deltas) <= 20
    assert sum(len(placed(each)) for each in results) == 20


def on_a_tree(name: str, number: int, size: int, *, ruled: bool = True) -> list[Event]:
    """So many tasks of one kind in a group that is placed by a tree, unless it is an ordinary gang."""
    some = uids(f"{name}-{number}", size)
    names = tuple(f"{name}/{uid}" for uid in some)
    job = f"{name}-{number}"
    record = json.dumps({"group": job, "constraints": {}}).encode()
    return [
        JobDefined(Job(job, min_members=size, size=size, namespace=name)),
        *([RecordUpserted(GROUP_RECORD, job, record)] if ruled else []),
        TasksSubmitted(1, some, job=job, names=names),
    ]


@pytest.mark.parametrize(("ruled", "placed_with_others"), [(True, 0), (False, 240)])
def test_many_groups_over_a_tree_of_one_namespace_wait_for_others_and_go_by_and_by(ruled, placed_with_others):
    nodes: dict[str, Any] = {f"n-{number}": {} for number in range(40)}
    tree = {"name": "tree", "levels": ["node"], "tree": nodes}
    core = Scheduler(
        configuration=CoreConfiguration(
            overlays=(WeightedModel(load_model("topology", {})),),
            options=RoundOptions(namespace_checks=40 * count_group_checks(40) * 10),
        ),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    core.apply(
        [
            *(machine(name, cpu=64_000) for name in nodes),
            RecordUpserted(TREE_RECORD, "tree", json.dumps(tree).encode()),
            ClassDefined(1, task_class(cpu=100)),
            *(event for number in range(60) for event in on_a_tree("heavy", number, 4, ruled=ruled)),
            TasksSubmitted(1, ("light/a",), names=("light/a",)),
        ]
    )
    first = placed(core.run_round())
    assert "light/a" in first
    assert len(first) == 1 + placed_with_others
    rounds = []
    while core.next_round_in() == 0.0:
        rounds.append(len(placed(core.run_round())))
    assert sum(rounds) == 240 - placed_with_others
    assert max(rounds, default=0) <= 4 * 10
    assert all(count % 4 == 0 for count in rounds)


def test_a_gang_of_thousands_of_looks_is_refused_and_told_why():
    count = 60
    events: list[Event] = [machine("m"), JobDefined(Job("gang", "heavy/gang", min_members=count))]
    for number in range(1, count + 1):
        events.append(ClassDefined(number, wanting(DEAR, number)))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), "gang", names=(f"heavy/{number}",)))
    events += [ClassDefined(99, task_class()), TasksSubmitted(99, ("light",), names=("light/0",))]
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=MOST))
    results = until_quiet(core)
    assert [placed(each) for each in results if each.deltas] == [{"light": "m"}]
    told = {uid: group.message for each in results for group in each.unscheduled for uid in group.uids}
    assert len(told) == count
    looked = count * (DEAR + 40)
    assert told["heavy-1"].startswith(
        f"gang heavy/gang has {count} kinds of members, for whose specs a round looks at each node {looked} times"
    )


def test_a_gang_whose_members_have_thousands_of_terms_is_refused_and_told_why():
    events: list[Event] = [
        machine("m", labels={"host": "m"}),
        JobDefined(Job("gang", "heavy/gang", min_members=21)),
    ]
    for number in range(1, 22):
        terms = tuple(
            TaskTerm(
                "host", TaskSelector((Requirement(f"k{number}", "In", (str(each),)),), namespaces=("heavy",))
            )
            for each in range(100)
        )
        events.append(ClassDefined(number, task_class(namespace="heavy", anti_affinity=terms)))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), "gang", names=(f"heavy/{number}",)))
    events += [ClassDefined(99, task_class()), TasksSubmitted(99, ("light",), names=("light/0",))]
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=MOST))
    results = until_quiet(core)
    assert [placed(each) for each in results if each.deltas] == [{"light": "m"}]
    told = {uid: group.message for each in results for group in each.unscheduled for uid in group.uids}
    assert len(told) == 21
    assert set(told.values()) == {told["heavy-1"]}
    assert told["heavy-1"].startswith("gang heavy/gang has 2100 terms of pod affinity and anti-affinity")


@pytest.mark.parametrize("beside", [False, True])
def test_a_gang_of_too_many_sizes_is_refused_whoever_waits_beside_it(beside: bool):
    count = 500
    events: list[Event] = [
        *(machine(f"m{number}") for number in range(20)),
        JobDefined(Job("gang", "heavy/gang", min_members=count)),
    ]
    for number in range(1, count + 1):
        events.append(ClassDefined(number, task_class(cpu=number)))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), "gang", names=(f"heavy/{number}",)))
    if beside:
        events += [ClassDefined(999, task_class()), TasksSubmitted(999, ("light",), names=("light/0",))]
    # So many checks that all may take part, if the gang is alone.
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=20 * 400))
    results = until_quiet(core)
    assert {uid for each in results for uid in placed(each)} == ({"light"} if beside else set())
    told = {uid: group.message for each in results for group in each.unscheduled for uid in group.uids}
    assert {uid: message[:40] for uid, message in told.items()} == {
        f"heavy-{number}": "gang heavy/gang has 500 kinds of members" for number in range(1, count + 1)
    }


def test_a_gang_whose_terms_select_all_its_kinds_is_refused_and_told_why():
    count = 60
    everybody = TaskTerm(
        "host", TaskSelector((Requirement("team", "In", ("heavy",)),), namespaces=("heavy",))
    )
    events: list[Event] = [
        machine("m", labels={"host": "m"}),
        JobDefined(Job("gang", "heavy/gang", min_members=count)),
    ]
    for number in range(1, count + 1):
        labels = (("copy", str(number)), ("team", "heavy"))
        content = task_class(namespace="heavy", labels=labels, cpu=number, anti_affinity=(everybody,))
        events.append(ClassDefined(number, content))
        events.append(TasksSubmitted(number, (f"heavy-{number}",), "gang", names=(f"heavy/{number}",)))
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=MOST))
    results = until_quiet(core)
    told = {group.message for each in results for group in each.unscheduled}
    assert [message[:104] for message in told] == [
        "gang heavy/gang has 60 terms of pod affinity and anti-affinity, which select its 60 kinds of members 360"
    ]


def test_a_task_that_is_the_last_to_wait_is_not_counted_as_put_off():
    events = [machine("m"), *submitted(1, "light", 1, 1)]
    for number in range(2, 6):
        events += submitted(number, "heavy", 1, DEAR)
    core = scheduler(events, options=RoundOptions(class_checks=0, namespace_checks=MOST))
    first = core.run_round()
    assert (sorted(placed(first)), first.put_off) == (["light-1-0"], 4)
    core.apply([TaskRemoved(f"heavy-{number}-0") for number in range(2, 5)])
    last = core.run_round()
    assert (sorted(placed(last)), last.put_off) == (["heavy-5-0"], 0)

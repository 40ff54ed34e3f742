"""A few tasks that are placed without a network go where it would have sent them, or where that costs as much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import CostModel, Promises
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineSampled,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.model import (
    Image,
    Job,
    Machine,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.placement.cost import compute_placed_cost
from firmament.core.results import RoundResult
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.selectors.label_columns import HOSTNAME, ZONE
from firmament.solvers.base import FlowProblem, FlowSolution
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.constraints.team_isolation import TeamIsolation
from tests.firmament.core.filters.test_foreign_nominations import nominated
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.firmament.core.scoring.test_kept_rows_properties import (
    CLASSES,
    MACHINES,
    Fussy,
    Resized,
    classes,
    contents,
    machines,
    some_uids,
)
from tests.support.effort import examples
from tests.support.models import Stated, indifferent

NAMES = (*MACHINES, *(f"n{number}" for number in range(5)))


def policies() -> dict[str, tuple[CostModel, ...]]:
    return {
        "cpu_mem": (load_model("cpu_mem", {}),),
        "cpu_mem and a constant": (load_model("cpu_mem", {}), load_model("sjf", {})),
        "octopus": (load_model("octopus", {}), Fussy()),
        "random": (load_model("random", {}),),
    }


class Unused:
    """A solver that must not be asked."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        raise AssertionError(f"asked about a network of {len(problem.tails)} arcs in {time_limit}")

    def close(self) -> None:
        """Hold nothing."""


def make(models: Sequence[CostModel], seed: int = 0, solver=None, **more) -> Scheduler:
    weighted = [WeightedModel(model, 1 + number) for number, model in enumerate(models)]
    configuration = CoreConfiguration(weighted[0], tuple(weighted[1:]), RoundOptions(seed=seed), **more)
    return Scheduler(
        configuration=configuration,
        solver=OrToolsSolver() if solver is None else solver,
        clock=lambda: 1e9,
        kept_rows=KeptRows(least_machines=0),
        first_costs=FirstCosts(least_machines=0),
    )


def run_round(scheduler: Scheduler, *, last: bool = True) -> tuple[RoundResult, bool]:
    """A round that may be direct, compared with what a whole one would have done; and whether it was.

    Where tasks of several classes would rather be apart, a whole round moves one class after another, and may end
    dearer.
    """
    whole = scheduler.open_round()
    placement = whole.solve()
    opened = scheduler.open_round(whole=False)
    if opened.direct is None:
        return scheduler.close_round(opened, opened.solve()), False
    assert whole.snapshot is not None
    direct, snapshot = opened.direct, whole.snapshot
    tasks = placement.assignments.tasks()
    assert len(tasks.cls) == len(snapshot.tasks) == len(direct.tasks)
    units = compute_placed_cost(snapshot.problem, placement.assignments)
    exact = not snapshot.problem.spread.groups or len(snapshot.cls) == 1
    assert direct.units == units if exact else direct.units <= units + 1
    assert placement.stats.certified
    result = scheduler.close_round(opened, opened.solve())
    assert {delta.uid for delta in result.deltas} == set(snapshot.uids)
    if len(direct.tasks) == 1:
        assert direct.machines.tolist() == tasks.machine.tolist()
    for figure in ("machines", "tasks", "classes", "cost", "placed", "pending", "certified", "gap"):
        expected = {"placed": len(direct.tasks), "pending": 0}.get(figure, getattr(placement.stats, figure))
        found = getattr(result.stats, figure)
        assert found <= expected + 1 if figure == "cost" and not exact else found == expected, figure
    return result, True


@dataclass(frozen=True)
class Pulled:
    """A machine has these images now."""

    machine: str
    images: tuple[Image, ...]


images = st.lists(
    st.builds(
        Image,
        st.sampled_from([("nginx",), ("nginx", "web"), ("redis",)]),
        st.integers(1, 9).map(lambda number: number * 200 * 2**20),
    ),
    max_size=2,
).map(tuple)
events = st.one_of(
    st.builds(MachineUpserted, machines),
    st.builds(MachineRemoved, st.sampled_from(MACHINES)),
    st.builds(TasksBound, st.sampled_from(NAMES), classes, some_uids),
    st.builds(TaskRemoved, st.integers(0, 40).map("more-{}".format)),
    st.builds(Resized, st.sampled_from(NAMES), st.integers(0, 9)),
    st.builds(Pulled, st.sampled_from(NAMES), images),
)
groups = st.sampled_from(("", "", "web", "db"))
"""Of owners whose tasks would rather be apart."""
waiting = st.tuples(classes, groups, st.integers(1, 3))
steps = st.tuples(st.lists(events, max_size=3), st.lists(waiting, min_size=1, max_size=3))
large = st.builds(
    lambda described, name, cpu, zone, held: replace(
        described,
        name=name,
        allocatable={**described.allocatable, "cpu": cpu, "pods": 50},
        labels={**described.labels, **zone},
        images=held,
    ),
    machines,
    st.sampled_from(NAMES),
    st.integers(3, 30),
    st.sampled_from([{}, {ZONE: "a"}, {ZONE: "b"}]),
    images,
)
with_images = st.builds(
    lambda content, names: replace(content, images=names),
    contents,
    st.sampled_from([(), (), ("nginx",), ("redis", "web")]),
)


@pytest.mark.parametrize("name", policies())
@settings(max_examples=examples(120, 8, slow=True))
@given(
    st.lists(large, min_size=8, max_size=14),
    st.lists(with_images, min_size=CLASSES, max_size=CLASSES),
    st.lists(steps, min_size=2, max_size=8),
    st.integers(0, 7),
)
def test_few_tasks_go_where_a_network_would_send_them(name, beginning, kinds, history, seed):
    scheduler = make(policies()[name], seed, spread=SYSTEM_DEFAULTS)
    scheduler.apply([ClassDefined(number, content) for number, content in enumerate(kinds, 1)])
    known: dict[str, Machine] = {}

    def happen(event: Event | Resized | Pulled) -> None:
        if isinstance(event, Resized):
            if event.machine not in known:
                return
            former = known[event.machine]
            event = MachineUpserted(replace(former, allocatable={**former.allocatable, "cpu": event.cpu}))
        if isinstance(event, Pulled):
            if event.machine not in known:
                return
            event = MachineUpserted(replace(known[event.machine], images=event.images))
        if isinstance(event, MachineUpserted):
            known[event.machine.name] = event.machine
        if isinstance(event, MachineRemoved):
            known.pop(event.name, None)
        scheduler.apply([event])

    for described in beginning:
        happen(MachineUpserted(described))
    number = 0
    for before, waiting in history:
        for event in before:
            happen(event)
        for cls, group, count in waiting:
            uids = tuple(f"more-{number + each}" for each in range(count))
            scheduler.apply([TasksSubmitted(cls, uids, spread_group=group)])
            number += count
        result, _ = run_round(scheduler)
        bound = [
            BindingReport(delta.uid, delta.machine, bound=True)
            for delta in result.deltas
            if delta.uid[-1] != "3"
        ]
        scheduler.report(bound)


def plain_cluster(scheduler: Scheduler, count: int = 12) -> None:
    scheduler.apply(
        [
            MachineUpserted(Machine(f"m{row}", {"cpu": 1000 + 37 * row, "memory": 4000, "pods": 9}))
            for row in range(count)
        ]
    )
    scheduler.apply([ClassDefined(1, TaskClass(requests=(("cpu", 100), ("memory", 100))))])


def test_a_lone_task_needs_no_solver():
    scheduler = make((load_model("cpu_mem", {}),), solver=Unused())
    plain_cluster(scheduler)
    for number in range(5):
        scheduler.apply([TasksSubmitted(1, (f"t{number}",))])
        opened = scheduler.open_round(whole=False)
        assert opened.direct is not None
        result = scheduler.close_round(opened, opened.solve())
        assert [delta.uid for delta in result.deltas] == [f"t{number}"]
        assert scheduler.next_round_in() is None


def test_tasks_of_one_class_stack_up_where_that_is_cheapest():
    scheduler = make((load_model("cpu_mem", {}),))
    plain_cluster(scheduler)
    scheduler.apply([MachineUpserted(Machine("huge", {"cpu": 10**6, "memory": 10**7, "pods": 5}))])
    scheduler.apply([TasksSubmitted(1, tuple("abcdef"))])
    result, direct = run_round(scheduler)
    assert direct
    assert [delta.machine for delta in result.deltas].count("huge") == 5


def test_what_happens_before_the_round_is_closed_calls_it_off():
    scheduler = make((load_model("cpu_mem", {}),))
    plain_cluster(scheduler)
    scheduler.apply([TasksSubmitted(1, ("a",))])
    opened = scheduler.open_round(whole=False)
    assert opened.direct is not None
    scheduler.apply([MachineUpserted(Machine("m99", {"cpu": 1000, "memory": 4000, "pods": 9}))])
    result = scheduler.close_round(opened, opened.solve())
    assert (len(result.deltas), result.stats.pending) == (0, 1)
    assert scheduler.next_round_in() == 0.0
    assert len(run_round(scheduler)[0].deltas) == 1


in_zone = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))
APP = TaskSelector((Requirement("app", "In", ("web",)),))
KEEPS_OFF = TaskClass((("cpu", 1),), anti_affinity=(TaskTerm(HOSTNAME, APP),))


@pytest.mark.parametrize(
    ("events", "task"),
    [
        ([MachineSampled("m1", 1e9, {"cpu": 100.0})], TasksSubmitted(1, ("a",))),
        ([ClassDefined(2, TaskClass((("cpu", 10**6),)))], TasksSubmitted(2, ("a",))),
        ([ClassDefined(2, TaskClass((("cpu", 1),), invalid="no"))], TasksSubmitted(2, ("a",))),
        ([TasksSubmitted(1, tuple(f"b{number}" for number in range(24)))], TasksSubmitted(1, ("a",))),
        ([ClassDefined(2, KEEPS_OFF)], TasksSubmitted(2, ("a",))),
        (
            [ClassDefined(2, KEEPS_OFF), ClassDefined(3, TaskClass((("cpu", 1),), labels=(("app", "web"),)))],
            TasksSubmitted(3, ("a",)),
        ),
        (
            [TasksSubmitted(1, ("b",), priority=7, spread_group="web")],
            TasksSubmitted(1, ("a",), spread_group="web"),
        ),
        (
            [JobDefined(Job("g", min_members=2)), TasksSubmitted(1, ("b", "c"), job="g")],
            TasksSubmitted(1, ("a",)),
        ),
        ([ClassDefined(2, TaskClass((("cpu", 1),), machine="m3"))], TasksSubmitted(2, ("a",))),
        (
            [
                flavor("any"),
                quota("team", {"any": {"cpu": 9000}}),
                ClassDefined(2, TaskClass((("cpu", 1),), queue="team")),
            ],
            TasksSubmitted(2, ("a",)),
        ),
        ([nominated("theirs", "m3", cpu=100)], TasksSubmitted(1, ("a",))),
        (
            [
                MachineUpserted(Machine("huge", {"cpu": 10**6, "memory": 10**7, "pods": 50})),
                ClassDefined(2, TaskClass((("cpu", 200), ("memory", 100)))),
                TasksSubmitted(2, ("b",)),
            ],
            TasksSubmitted(1, ("a",)),
        ),
        (
            [
                MachineUpserted(Machine("huge", {"cpu": 10**6, "memory": 10**7, "pods": 50})),
                ClassDefined(2, TaskClass((("cpu", 200), ("memory", 100)))),
                TasksSubmitted(2, ("b", "c")),
            ],
            TasksSubmitted(1, ("a", "d")),
        ),
    ],
    ids=[
        "measured",
        "no room",
        "invalid",
        "many",
        "own rule",
        "selected",
        "one group, two classes",
        "gang",
        "pinned",
        "quota",
        "promised room",
        "one machine for two",
        "one machine for four",
    ],
)
def test_whatever_else_has_a_say_takes_the_whole_way(events, task):
    scheduler = make((load_model("cpu_mem", {}),), spread=SYSTEM_DEFAULTS)
    plain_cluster(scheduler, 60)
    scheduler.apply([*events, task])
    _, direct = run_round(scheduler)
    assert not direct


@pytest.mark.parametrize(
    ("model", "direct"),
    [
        (Stated(indifferent, promises=Promises(per_machine=True)), True),
        (Stated(indifferent, promises=Promises(per_machine=False)), False),
        (TeamIsolation(1), False),
    ],
    ids=["each machine by itself", "all machines together", "where other tasks are"],
)
def test_models_must_judge_each_machine_by_itself(model: CostModel, direct: bool):
    scheduler = make((load_model("cpu_mem", {}), model))
    plain_cluster(scheduler)
    scheduler.apply([ClassDefined(2, TaskClass((("cpu", 1),), labels=(("team", "a"),)))])
    scheduler.apply([MachineUpserted(Machine("r", {"cpu": 900, "pods": 9}, {"rack": "a"}))])
    scheduler.apply([TasksSubmitted(2, ("a",))])
    assert (scheduler.open_round(whole=False).direct is not None) is direct


@pytest.mark.parametrize(("tasks", "direct"), [(6, True), (7, False)])
def test_tasks_are_few_if_there_are_twice_as_many_machines(tasks: int, direct: bool):
    scheduler = make((load_model("cpu_mem", {}),))
    plain_cluster(scheduler, 12)
    scheduler.apply([TasksSubmitted(1, tuple(f"t{number}" for number in range(tasks)))])
    assert run_round(scheduler)[1] is direct


@pytest.mark.parametrize(("seed", "expected"), [(0, ["m0", "m1"]), (3, ["m3", "m4"]), (15, ["m7", "m0"])])
def test_of_machines_that_cost_the_same_other_ones_are_taken_by_the_seed(seed: int, expected: list[str]):
    scheduler = make((load_model("cpu_mem", {}),), seed)
    alike = [MachineUpserted(Machine(f"m{row}", {"cpu": 900, "memory": 900, "pods": 9})) for row in range(8)]
    scheduler.apply([*alike, ClassDefined(1, TaskClass((("cpu", 100),))), TasksSubmitted(1, ("a", "b"))])
    result, direct = run_round(scheduler)
    assert direct
    assert sorted(delta.machine for delta in result.deltas) == sorted(expected)


@pytest.mark.parametrize(
    ("events", "task"),
    [
        (
            [TasksBound("m1", 1, ("b", "c"), spread_group="web")],
            TasksSubmitted(1, ("a",), spread_group="web"),
        ),
        (
            [
                MachineUpserted(Machine("z", {"cpu": 900, "memory": 4000, "pods": 9}, {"zone": "a"})),
                ClassDefined(2, TaskClass((("cpu", 1),), preferred=(PreferredTerm(30, in_zone),))),
            ],
            TasksSubmitted(2, ("a",)),
        ),
        (
            [
                MachineUpserted(
                    Machine("i", {"cpu": 900, "memory": 4000, "pods": 9}, images=(Image(("nginx",), 2**30),))
                ),
                ClassDefined(2, TaskClass((("cpu", 1),), images=("nginx",))),
            ],
            TasksSubmitted(2, ("a",)),
        ),
        ([ClassDefined(2, KEEPS_OFF), TasksBound("m1", 2, ("b",))], TasksSubmitted(1, ("a",))),
        (
            [JobDefined(Job("g", min_members=2)), TasksSubmitted(1, ("b",), job="g")],
            TasksSubmitted(1, ("a",)),
        ),
    ],
    ids=["spread", "preferred", "images", "rules about others", "a gang that cannot be tried"],
)
def test_what_concerns_no_other_tasks_takes_the_short_way(events, task):
    scheduler = make((load_model("cpu_mem", {}),), spread=SYSTEM_DEFAULTS)
    plain_cluster(scheduler, 60)
    scheduler.apply([*events, task])
    _, direct = run_round(scheduler)
    assert direct


def test_images_that_a_machine_gets_or_loses_count_for_the_next_task_of_a_class():
    """Between rounds, the costs of a class are kept: at first no machine has the image, then one, then none."""
    scheduler = make((load_model("cpu_mem", {}),))
    plain_cluster(scheduler, 60)
    scheduler.apply([ClassDefined(2, TaskClass((("cpu", 1),), images=("nginx",)))])
    having = Machine("m7", {"cpu": 1259, "memory": 4000, "pods": 9}, images=(Image(("nginx",), 2**33),))
    taken = []
    for number, event in enumerate([None, having, replace(having, images=())]):
        scheduler.apply([] if event is None else [MachineUpserted(event)])
        scheduler.apply([TasksSubmitted(2, (f"t{number}",))])
        result, direct = run_round(scheduler)
        assert direct
        taken += [delta.machine for delta in result.deltas]
    assert [name == "m7" for name in taken] == [False, True, False]


def test_tasks_of_a_group_stay_apart_from_each_other_and_from_those_that_run():
    scheduler = make((load_model("cpu_mem", {}),), spread=SYSTEM_DEFAULTS)
    plain_cluster(scheduler)
    scheduler.apply([MachineUpserted(Machine("huge", {"cpu": 10**6, "memory": 10**7, "pods": 50}))])
    scheduler.apply([TasksSubmitted(1, tuple("abcdef"), spread_group="web")])
    result, direct = run_round(scheduler)
    assert direct
    assert len({delta.machine for delta in result.deltas}) == 6
    scheduler.apply([TasksSubmitted(1, ("g",), spread_group="web")])
    again, direct = run_round(scheduler)
    assert direct
    assert not {delta.machine for delta in result.deltas} & {delta.machine for delta in again.deltas}

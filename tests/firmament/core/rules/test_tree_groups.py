"""Groups over a tree of machines: how they are compiled, explained, and checked again when a round is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.group_terms import (
    GROUP_RECORD,
    NOT_IN_TREE,
    TREE_RECORD,
    GroupRules,
    LevelRule,
    TopologyTerms,
)
from cost_models.interface import Assessment, Needs
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, JobGroup
from firmament.core.reasons import by_limit
from firmament.core.rules.framework.task_verdict import AskedTask
from firmament.core.rules.tree_groups.compilation import (
    MachineTrees,
    TriedGangs,
    compile_groups,
    list_groups,
    list_level_rules,
    list_ruled_members,
    sort_by_natural_name,
)
from firmament.core.rules.tree_groups.explanation import find_outside, introduce_group, judge_group
from firmament.core.rules.tree_groups.nested import find_domains, list_labels, nest_groups
from firmament.core.rules.tree_groups.revalidation import DecidedGroups
from firmament.core.state.cluster import Cluster
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms, TreeGroup
from firmament.core.tree_solver.tree import Rule
from tests.support.core import machine, problem, task_class
from tests.support.rules import ints

PATHS: Mapping[str, tuple[str, ...] | None] = {
    "m0": ("r1", "m0"),
    "m1": ("r1", "m1"),
    "m2": ("r2", "m2"),
    "out": None,
}
RULES = GroupRules("ns/g", {"rack": LevelRule(partitions=1)})


class Model:
    """A model that states a tree and rules."""

    def __init__(self, **more: Any) -> None:
        self.terms = TopologyTerms(("rack", "node"), tuple(PATHS.values()), {"g": RULES}, **more)

    def topology_terms(self, _machines: Any) -> TopologyTerms:
        return self.terms


def cluster(*events: Event) -> Cluster:
    """Four machines, the gang g of three tasks of class 1, and its record."""
    made = Cluster(Needs(records=(TREE_RECORD, GROUP_RECORD)))
    first: list[Event] = [
        *(machine(name) for name in PATHS),
        ClassDefined(1, task_class(100)),
        ClassDefined(2, task_class(200)),
        JobDefined(Job("g", name="ns/g", min_members=3)),
        RecordUpserted(GROUP_RECORD, "g", b"{}"),
    ]
    apply_events(made, [*first, *events], 0.0)
    return made


def waiting(*names: str, number: int = 1, job: str = "g") -> TasksSubmitted:
    return TasksSubmitted(number, names, job=job)


def compiled(
    made: Cluster, *members: Sequence[str], model: Any = None, jobs: Sequence[str] = ("g",)
) -> GroupTerms:
    """The terms of a round with a class of the problem for each of ``members``, all of the first gang."""
    rows = [ints(*(made.tasks.row_of[uid] for uid in uids)) for uids in members]
    called = TriedGangs(jobs, np.zeros(len(rows), dtype=np.int64), rows)
    columns: Any = None
    asked: Any = Model() if model is None else model
    return compile_groups(made, MachineTrees(), asked, columns, called)


# --- compiled --------------------------------------------------------------------------------------------------------


def test_a_group_knows_its_places_rules_and_the_order_of_its_tasks():
    made = cluster(TasksBound("m1", 1, ("g-0",), job="g"), waiting("g-10", "g-2"))
    made.tasks.name[:3] = ["g-0", "g-10", "g-2"]
    found = compiled(made, ["g-10"], ["g-2"])
    group = found.groups[0]
    assert (group.name, group.size, group.refused) == ("ns/g", 3, "")
    assert group.held.tolist() == [0, 1, 0]
    assert group.order.tolist() == [1, 0]
    assert group.rules == (LevelRule(partitions=1), Rule())
    assert found.position.tolist() == [0, 1, 2, 3]
    assert found.counted.tolist() == []
    assert list_groups(made) == {"g"}


def test_rooms_are_compared_by_the_resources_that_the_tree_names():
    made = cluster(waiting("g-0"))
    found = compiled(made, ["g-0"], model=Model(resources=("memory", "odd", "cpu")))
    assert found.counted.tolist() == [made.resources.names.index(name) for name in ("memory", "cpu")]


def test_members_outside_of_the_tree_or_on_their_way_out_are_not_held():
    made = cluster(
        TasksBound("out", 1, ("g-0",), job="g"), TasksBound("m0", 1, ("g-1",), job="g"), waiting("g-2")
    )
    made.tasks.leaving[made.tasks.row_of["g-1"]] = True
    group = compiled(made, ["g-2"]).groups[0]
    assert (group.held.tolist(), group.size) == ([0, 0, 0], 1)
    assert group.refused == "1 pod of it has been asked to leave, and may stay"


def test_members_that_are_being_deleted_keep_nobody_waiting():
    going = ClassDefined(3, task_class(100, terminating=True))
    made = cluster(going, TasksBound("m0", 3, ("g-1",), job="g"), waiting("g-2"))
    group = compiled(made, ["g-2"]).groups[0]
    assert (group.held.tolist(), group.size, group.refused) == ([0, 0, 0], 1, "")


def test_gangs_without_rules_or_models_are_no_tree_groups():
    made = cluster(JobDefined(Job("h", min_members=2)), waiting("h-0", job="h"))
    assert compiled(made, ["h-0"], jobs=("h",)) is NO_GROUPS
    rows = [ints(made.tasks.row_of["h-0"])]
    nobody: Any = None
    called = TriedGangs(("g",), ints(0), rows)
    assert compile_groups(made, MachineTrees(), None, nobody, called) is NO_GROUPS


def test_unlike_requests_are_refused():
    made = cluster(waiting("g-0"), waiting("g-1", number=2))
    assert compiled(made, ["g-0"], ["g-1"]).groups[0].refused == (
        "its pods ask for unlike amounts of cpu (100 and 200); give all pods of the group the same requests"
    )


def test_a_resource_that_only_some_request_is_unlike():
    made = cluster(ClassDefined(3, task_class(100, memory=1)), waiting("g-0"), waiting("g-1", number=3))
    assert "unlike amounts of memory (0 and 1)" in compiled(made, ["g-0"], ["g-1"]).groups[0].refused


def test_rules_that_contradict_each_other_are_refused():
    model = Model()
    rule = LevelRule(least=5, most=5)
    model.terms = replace(model.terms, groups={"g": GroupRules("ns/g", {"rack": rule})})
    assert compiled(cluster(waiting("g-0")), ["g-0"], model=model).groups[0].refused


def test_a_tree_is_kept_until_machines_or_levels_change():
    trees, model = MachineTrees(), Model()
    tree, position = trees.build(model.terms)
    assert tree.leaf_path(2) == ("r2", "m2")
    assert trees.build(replace(model.terms, groups={}))[0] is tree
    moved = replace(model.terms, paths=(("r2", "m0"), *model.terms.paths[1:]))
    other, position = trees.build(moved)
    assert other is not tree
    assert position.tolist() == [1, 0, 2, 3]
    assert trees.build(replace(moved, levels=("row", "node")))[0].levels == ("row", "node")


def test_members_of_groups_with_rules():
    made = cluster(waiting("g-0"), waiting("h-0", job="h"), waiting("x", job=""))
    assert list_ruled_members(made, ints(0, 1, 2)).tolist() == [0]
    made.tasks.name[:3] = ["a-10", "a-9", "a-9"]
    assert sort_by_natural_name(made, ints(0, 2, 1)).tolist() == [1, 2, 0]
    assert list_level_rules(RULES, ("zone", "rack")) == (Rule(), LevelRule(partitions=1))


# --- explained -------------------------------------------------------------------------------------------------------


def test_machines_outside_of_the_tree_are_named():
    made = cluster(waiting("g-0"))
    posed = replace(
        problem(tasks=[1, 1], requests=[[1], [1]], free=[[1]] * 4),
        gang=ints(0, -1),
        topology=compiled(made, ["g-0"]),
    )
    ((reason, refused),) = find_outside(posed, 0)
    assert (reason, refused.tolist()) == (by_limit(NOT_IN_TREE), [False, False, False, True])
    assert find_outside(posed, 1) == []
    assert find_outside(replace(posed, gang=ints()), 0) == []


def test_messages_begin_with_the_group():
    def named(tasks: int) -> str:
        group = TreeGroup("ns/g", tasks, (), ints(), ints(*[0] * tasks))
        terms = replace(NO_GROUPS, groups={3: group})
        return introduce_group(replace(problem(tasks=[1], requests=[[1]], free=[[1]]), topology=terms), 3)

    assert named(1) == "group ns/g needs 1 place: "
    assert named(2) == "group ns/g needs 2 places at once: "
    assert introduce_group(problem(tasks=[1], requests=[[1]], free=[[1]]), 0) == ""


class Models:
    """The configured models."""

    pair_models = ()

    def __init__(self, model: Model | None) -> None:
        self.group_model = model


def asked(made: Cluster, uid: str, model: Model | None) -> AskedTask:
    def former(_model: Any) -> Assessment:
        return Assessment(np.zeros((1, 4)), reason="former", causes=np.zeros((1, 4), np.int16))

    models: Any = Models(model)
    columns: Any = None
    return AskedTask(made, models, made.tasks.row_of[uid], columns, former)


def test_a_member_is_told_of_the_others_in_each_unit():
    made = cluster(
        TasksBound("m0", 1, ("g-0",), job="g"),
        TasksBound("m1", 1, ("g-1", "g-2"), job="g"),
        TasksBound("out", 1, ("g-3",), job="g"),
        TasksBound("m2", 1, ("g-4",), job="g"),
        waiting("g-5"),
        TasksBound("m2", 1, ("other",)),
    )
    made.tasks.leaving[made.tasks.row_of["g-4"]] = True
    (verdict,) = judge_group(asked(made, "g-0", Model()))
    assert verdict.answer.feasible is not None
    assert verdict.answer.feasible.tolist() == [[True, True, True, False]]
    assert (verdict.answer.reason, verdict.answer.causes) == (NOT_IN_TREE, None)
    assert verdict.details == [
        ("rack r1: 2 other pods of the group",),
        ("rack r1: 2 other pods of the group", "node r1/m1: 2 other pods of the group"),
        (),
        (),
    ]
    (verdict,) = judge_group(asked(made, "g-5", Model()))
    assert verdict.details[0] == (
        "rack r1: 3 other pods of the group",
        "node r1/m0: 1 other pods of the group",
    )


def test_nothing_is_said_of_tasks_without_rules():
    made = cluster(TasksBound("m0", 1, ("g-0",), job="g"), TasksBound("m0", 1, ("x",)))
    assert list(judge_group(asked(made, "x", Model()))) == []
    assert list(judge_group(asked(made, "g-0", None))) == []


# --- checked again ---------------------------------------------------------------------------------------------------


def overtaken(
    made: Cluster, before: GroupTerms, model: Model | None, **used: Sequence[int]
) -> frozenset[str]:
    """The jobs whose decided places do not hold any more; ``used``: machines by job."""
    decided = DecidedGroups(before, ("g",), tuple(PATHS))
    machines = {job: ints(*rows) for job, rows in used.items()}
    columns: Any = lambda: None  # noqa: E731
    kind: Any = model
    return decided.find_overtaken(made, kind, columns, machines)


def test_decisions_hold_while_nothing_about_the_group_changes():
    made = cluster(TasksBound("m1", 1, ("g-0",), job="g"), waiting("g-1", "g-2"))
    before = compiled(made, ["g-1", "g-2"])
    assert overtaken(made, before, Model(), g=[0, 2]) == frozenset()
    apply_events(made, [TasksBound("m0", 1, ("other",))], 0.0)
    assert overtaken(made, before, Model(), g=[0, 2]) == frozenset()
    assert overtaken(made, before, None, g=[0, 2]) == frozenset()
    apply_events(made, [TasksBound("m2", 1, ("g-3",), job="g")], 0.0)
    assert overtaken(made, before, Model(), g=[0]) == {"g"}


@pytest.mark.parametrize(
    ("changes", "machines", "expected"),
    [
        ({"groups": {"g": GroupRules("other name", RULES.levels)}}, [0], False),
        ({"groups": {"g": GroupRules("ns/g", {"rack": LevelRule(partitions=2)})}}, [0], True),
        ({"groups": {}}, [0], True),
        ({"levels": ("row", "node")}, [0], True),
        ({"paths": (("r9", "m0"), *list(PATHS.values())[1:])}, [0], True),
        ({"paths": (("r9", "m0"), *list(PATHS.values())[1:])}, [1, 2], False),
        ({"paths": (*list(PATHS.values())[:3], ("r2", "out"))}, [3], True),
        ({}, [3], False),
    ],
    ids=str,
)
def test_changes_of_rules_and_of_the_tree_around_decided_machines(
    changes: dict[str, Any], machines: list[int], expected: bool
):
    made = cluster(waiting("g-0"))
    before, model = compiled(made, ["g-0"]), Model()
    model.terms = replace(model.terms, **changes)
    assert overtaken(made, before, model, g=machines) == ({"g"} if expected else frozenset())


def test_a_decided_machine_that_is_gone_overtakes_a_group():
    made = cluster(waiting("g-0"))
    before, model = compiled(made, ["g-0"]), Model()
    apply_events(made, [MachineRemoved("m0")], 0.0)
    model.terms = replace(model.terms, paths=(None, PATHS["m1"], PATHS["m2"]))
    assert overtaken(made, before, model, g=[0]) == {"g"}
    assert overtaken(made, before, model, g=[1]) == frozenset()


def test_groups_that_have_rules_only_since_then_are_overtaken():
    made = cluster(waiting("g-0"))
    before = compiled(made, ["g-0"])
    more: list[Event] = [JobDefined(Job("h", min_members=2)), RecordUpserted(GROUP_RECORD, "h", b"{}")]
    apply_events(made, more, 0.0)
    assert overtaken(made, before, Model()) == {"h"}


# --- trees of groups -------------------------------------------------------------------------------------------------

TREE = (
    JobGroup("all", least=2, within=("zone",)),
    JobGroup("a", "all", least=1, within=("rack", "zone"), rather_within=("row",), apart=True),
    JobGroup("b", "all", least=2, expected=4, expected_alike=True),
)


def nested_cluster(*events: Event) -> Cluster:
    made = Cluster()
    places = {"m0": ("z1", "r1"), "m1": ("z1", ""), "m2": ("z2", "r0")}
    first: list[Event] = [
        *(
            machine(name, labels={"zone": zone, **({"rack": rack} if rack else {})})
            for name, (zone, rack) in places.items()
        ),
        *(
            ClassDefined(number, task_class(100, group=group))
            for number, group in enumerate(("a", "b", ""), 1)
        ),
        JobDefined(Job("g", name="ns/g", min_members=5, groups=TREE)),
    ]
    apply_events(made, [*first, *events], 0.0)
    return made


def nested(made: Cluster, *members: Sequence[str]) -> Any:
    rows = [ints(*(made.tasks.row_of[uid] for uid in uids)) for uids in members]
    job = made.jobs.gang("g")
    assert job is not None
    return nest_groups(made, job, ("rack", "row", "zone"), list(range(len(rows))), rows)


def test_labels_and_domains_of_trees():
    made = nested_cluster()
    assert list_labels([Job("g", groups=TREE), Job("h")]) == ["rack", "row", "zone"]
    found = find_domains(made, ["rack", "row", "zone"])
    assert found.keys == ("rack", "row", "zone")
    assert found.code.tolist() == [[1, -1, 0], [-1, -1, -1], [0, 0, 1]]
    assert found.values == (("r0", "r1"), (), ("z1", "z2"))
    assert find_domains(made, []).code.shape == (0, 3)


def test_a_tree_of_groups_with_tasks_that_wait_are_there_and_are_to_come():
    made = nested_cluster(
        TasksBound("m2", 1, ("a-0",), job="g"), waiting("a-1", "a-2"), waiting("b-0", number=2)
    )
    found = nested(made, ["a-1", "a-2"], ["b-0"])
    assert (found.name, found.names, found.refused) == ("ns/g", ("all", "a", "b"), "")
    assert found.parent.tolist() == [-1, 0, 0]
    assert found.least.tolist() == [2, 1, 4], "b's tasks to come are like those that wait"
    assert found.within == ((2,), (0, 2), ())
    assert found.rather_within == ((), (1,), ())
    assert found.apart == (False, True, False)
    assert found.part_class.tolist() == [0, 1, 1]
    assert found.part_group.tolist() == [1, 2, 2]
    assert found.part_count.tolist() == [2, 1, 3]
    assert found.part_to_come.tolist() == [False, False, True]
    assert (found.held_group.tolist(), found.held_machine.tolist()) == ([1], [2])
    assert found.order.tolist() == [0, 0, 1]
    assert found.fewest == 4


def test_a_group_that_has_begun_expects_nothing_more_together():
    made = nested_cluster(TasksBound("m2", 2, ("b-0",), job="g"), waiting("b-1", number=2))
    found = nested(made, ["b-1"])
    assert found.least.tolist() == [2, 1, 2]
    assert found.part_to_come.tolist() == [False]


def test_a_group_of_which_all_tasks_exist_goes_together():
    job = Job("g", min_members=1, groups=(JobGroup("b", least=1, expected=2),))
    assert nested(nested_cluster(JobDefined(job), waiting("b-0", number=2)), ["b-0"]).least.tolist() == [1]
    both = nested_cluster(JobDefined(job), waiting("b-0", "b-1", number=2))
    assert nested(both, ["b-0", "b-1"]).least.tolist() == [2]
    begun = nested_cluster(JobDefined(job), TasksBound("m0", 2, ("b-0",), job="g"), waiting("b-1", number=2))
    assert nested(begun, ["b-1"]).least.tolist() == [1]


def test_groups_that_are_expected_begin_together_and_then_each_by_itself():
    root = JobGroup("all", least=1, expected=2, expected_alike=True)
    job = Job("g", min_members=1, groups=(root, JobGroup("a", "all", 1, expected=2), JobGroup("b", "all", 1)))
    found = nested(nested_cluster(JobDefined(job), waiting("a-0")), ["a-0"])
    assert found.least.tolist() == [2, 1, 1]
    assert found.part_group.tolist() == [1, 1], "groups to come are no tasks to come"
    begun = nested_cluster(JobDefined(job), TasksBound("m1", 2, ("b-0",), job="g"), waiting("a-0"))
    assert nested(begun, ["a-0"]).least.tolist() == [1, 1, 1]


def test_tasks_of_a_tree_of_one_group_are_held_by_it():
    alone = Job("g", min_members=2, groups=(JobGroup("a", least=2),))
    made = nested_cluster(JobDefined(alone), TasksBound("m1", 1, ("a-0",), job="g"), waiting("a-1"))
    found = nested(made, ["a-1"])
    assert (found.held_group.tolist(), found.held_machine.tolist(), found.fewest) == ([0], [1], 1)


def test_tasks_to_come_without_any_that_wait_are_like_the_first_class():
    made = nested_cluster(waiting("a-0"))
    found = nested(made, ["a-0"])
    assert found.part_class.tolist() == [0, 0]
    assert found.part_group.tolist() == [1, 2]
    assert found.part_count.tolist() == [1, 4]


def test_tasks_that_are_asked_to_leave_are_told_apart_from_those_that_stay_or_are_being_deleted():
    going = ClassDefined(4, task_class(100, group="a", terminating=True))
    there = [
        TasksBound("m0", 1, ("a-0",), job="g"),
        TasksBound("m1", 1, ("a-1",), job="g"),
        TasksBound("m2", 4, ("a-2",), job="g"),
    ]
    made = nested_cluster(going, *there, waiting("b-0", number=2))
    made.tasks.leaving[made.tasks.row_of["a-1"]] = True
    found = nested(made, ["b-0"])
    assert (found.held_group.tolist(), found.held_machine.tolist()) == ([1], [0])
    assert (found.asked_group.tolist(), found.asked_machine.tolist()) == ([1], [1])
    assert found.fewest == 4


def test_tasks_of_no_group_are_refused_and_those_on_machines_do_not_count():
    made = nested_cluster(TasksBound("m0", 3, ("x",), job="g"), waiting("y", number=3))
    found = nested(made, ["y"])
    assert found.refused == "some of its pods are in no group of the tree"
    assert found.held_group.tolist() == []
    assert found.part_count.tolist() == [1]
    assert found.fewest == 5


def nested_overtaken(made: Cluster, before: GroupTerms, *machines: int) -> bool:
    decided = DecidedGroups(before, ("g",), ("m0", "m1", "m2"))
    columns: Any = lambda: None  # noqa: E731
    return decided.find_overtaken(made, None, columns, {"g": ints(*machines)}) == {"g"}


def compiled_tree(made: Cluster, *uids: str) -> GroupTerms:
    rows = [ints(*(made.tasks.row_of[uid] for uid in uids))]
    columns: Any = None
    return compile_groups(made, MachineTrees(), None, columns, TriedGangs(("g",), ints(0), rows))


@pytest.mark.parametrize(
    ("change", "machines", "expected"),
    [
        (TasksBound("m1", 2, ("other",)), (0, 1, 2), False),
        (TasksBound("m1", 2, ("b-9",), job="g"), (0,), True),
        (machine("m0", labels={"zone": "z1", "rack": "r1", "more": "x"}), (0,), False),
        (machine("m0", labels={"zone": "z1", "rack": "r7"}), (0,), True),
        (machine("m0", labels={"zone": "z1", "rack": "r7"}), (1, 2), False),
        (machine("m0", labels={"zone": "z1"}), (0,), True),
        (machine("m1", labels={"zone": "z1", "rack": "r1"}), (1,), True),
        (MachineRemoved("m0"), (0,), True),
        (MachineRemoved("m0"), (1,), False),
        (JobDefined(Job("g", min_members=5, groups=TREE[:2])), (0,), True),
        (JobDefined(Job("g", min_members=5, groups=(TREE[0], TREE[2], TREE[1]))), (0,), True),
        (
            JobDefined(Job("g", min_members=5, groups=(*TREE[:2], replace(TREE[2], within=("other",))))),
            (0,),
            True,
        ),
        (JobDefined(Job("g", min_members=5, groups=(*TREE[:2], replace(TREE[2], parent="a")))), (0,), True),
        (JobDefined(Job("g", min_members=5, groups=(*TREE[:2], replace(TREE[2], apart=True)))), (0,), True),
        (JobDefined(Job("g", min_members=0)), (0,), True),
    ],
    ids=str,
)
def test_decisions_for_trees_of_groups_hold_while_tree_tasks_and_domains_do(
    change: Event, machines: tuple[int, ...], expected: bool
):
    made = nested_cluster(TasksBound("m2", 1, ("a-0",), job="g"), waiting("a-1"))
    before = compiled_tree(made, "a-1")
    assert not nested_overtaken(made, before, 0, 1, 2)
    apply_events(made, [change], 0.0)
    assert nested_overtaken(made, before, *machines) is expected

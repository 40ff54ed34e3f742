"""Quotas as arrays: the order of nodes and columns, what tasks draw, why queues refuse them, and what is in use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import DrawGroup
from firmament.core.constraints.quota_tree import UNBOUNDED
from firmament.core.events import ClassDefined, Event, RecordRemoved, TasksBound
from firmament.core.model import Taint, TaskClass, Toleration
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.rules.quotas.compilation import (
    build_terms,
    compile_quotas,
    needs_one_flavor,
    number_draws,
)
from firmament.core.rules.quotas.records import (
    STRATEGIES,
    FlavorGroup,
    QuotaPreemption,
    StatedFlavor,
    StatedQuota,
)
from firmament.core.rules.quotas.stated_quotas import StatedQuotas, read_stated_quotas
from firmament.core.state.cluster import Cluster
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class

GROUP = FlavorGroup(("cpu", "memory"), ("spot", "own"))


def stated(*quotas: StatedQuota, flavors: dict[str, StatedFlavor] | None = None) -> StatedQuotas:
    known = {"own": StatedFlavor(), "spot": StatedFlavor()} if flavors is None else flavors
    return StatedQuotas({quota.name: quota for quota in quotas}, known)


def asks(queue: str = "q", cpu: int = 0, memory: int = 0, **content: Any) -> TaskClass:
    return task_class(cpu, memory, queue=queue, **content)


# --- records as arrays -----------------------------------------------------------------------------------------------


def test_nodes_come_after_their_parents_and_otherwise_by_name():
    book = stated(
        StatedQuota("a", "z"),
        StatedQuota("b"),
        StatedQuota("c", "a"),
        StatedQuota("z"),
        StatedQuota("d", fault="odd"),
    )
    assert [node.name for node in book.nodes] == ["b", "z", "a", "c"]
    assert book.row_of == {"b": 0, "z": 1, "a": 2, "c": 3}
    assert book.tree.parent.tolist() == [-1, -1, 1, 2]
    assert [book.root_of(name) for name in ("a", "b", "c", "z", "d", "none")] == ["z", "b", "z", "z", "", ""]


def test_columns_are_the_stated_pairs_in_order():
    book = stated(
        StatedQuota("q", groups=(GROUP,), nominal={("extra", "gpu"): 1}),
        StatedQuota("odd", nominal={("never", "cpu"): 1}, fault="odd"),
    )
    pairs = [("extra", "gpu"), ("own", "cpu"), ("own", "memory"), ("spot", "cpu"), ("spot", "memory")]
    assert book.columns == {pair: column for column, pair in enumerate(pairs)}
    assert book.flavor_names == ("extra", "own", "spot")
    assert book.resource_names == ("gpu", "cpu", "memory")
    assert book.fields["columns"] == tuple(pairs)
    assert book.fields["flavor"].tolist() == [0, 1, 1, 2, 2]
    assert book.fields["resource"].tolist() == [0, 1, 2, 1, 2]


def test_amounts_that_are_not_stated_are_no_limits_and_no_quota():
    cpu, other = ("own", "cpu"), ("own", "memory")
    book = stated(
        StatedQuota("top", nominal={cpu: 2, other: 1}, borrowing={("gone", "cpu"): 1}),
        StatedQuota(
            "q",
            "top",
            nominal={cpu: 10},
            lending={cpu: 4},
            borrowing={cpu: 3},
            limit={cpu: 12},
            guarantee={other: 5},
        ),
        StatedQuota("r", "top", nominal={cpu: 7}, guarantee={cpu: 3}),
    )
    tree = book.tree
    assert tree.subtree.tolist() == [[2 + 4 + 4, 1], [10, 0], [7, 0]]
    assert tree.local.tolist() == [[0, 0], [6, 0], [3, 0]]
    assert tree.borrowing.tolist() == [[UNBOUNDED, UNBOUNDED], [3, UNBOUNDED], [UNBOUNDED, UNBOUNDED]]
    assert tree.limit.tolist() == [[UNBOUNDED, UNBOUNDED], [12, UNBOUNDED], [UNBOUNDED, UNBOUNDED]]


def test_fields_say_what_each_quota_states():
    book = stated(
        StatedQuota("a"),
        StatedQuota(
            "b",
            weight=2.5,
            fair=True,
            strict=True,
            reclaimable=False,
            sparing=True,
            evicts_first=True,
            evicts_before_borrowing=True,
            same_flavor=True,
            preemption=QuotaPreemption(
                "LowerOrNewerEqualPriority",
                "Any",
                "LowerPriority",
                0,
                ("LessThanInitialShare",),
                beyond_quota=False,
            ),
        ),
    )
    found = book.fields
    assert found["names"] == ("a", "b")
    assert found["weight"].tolist() == [1.0, 2.5]
    for name in ("fair", "strict"):
        assert found[name].tolist() == [False, True], name
    for name in (
        "sparing",
        "evicts_first",
        "evicts_before_borrowing",
        "same_flavor",
        "within_quota",
        "keeps_borrowed",
    ):
        assert found[name] == (False, True), name
    assert found["within"].tolist() == [0, 2]
    assert found["reclaim"].tolist() == [0, 2]
    assert found["borrows"].tolist() == [False, True]
    assert found["threshold"].tolist() == [np.iinfo(np.int64).max, 0]
    assert found["strategies"] == (STRATEGIES, ("LessThanInitialShare",))


# --- what tasks draw -------------------------------------------------------------------------------------------------


def test_a_task_draws_what_it_requests_in_any_flavor_of_the_group():
    draw = stated(StatedQuota("o"), StatedQuota("q", groups=(GROUP,))).find_draw(asks(cpu=5, memory=7))
    # columns: own cpu, own memory, spot cpu, spot memory; flavors: own, spot
    assert draw.node == 1
    assert draw.groups == (DrawGroup((1, 0), ((2, 3), (0, 1)), (5, 7), 0),)
    assert (draw.refused, draw.together) == ("", "")


def test_groups_without_any_of_the_requests_are_left_out_and_keep_their_numbers():
    groups = (FlavorGroup(("gpu",), ("own",)), FlavorGroup(("cpu",), ("spot",)))
    draw = stated(StatedQuota("q", groups=groups)).find_draw(asks(cpu=5, flavor_group="f"))
    assert [(group.number, group.amounts) for group in draw.groups] == [(1, (5,))]
    assert draw.together == "f"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (asks("none", 1), "quota: queue none does not exist"),
        (asks("odd", 1), "quota: queue odd admits nobody (it is odd)"),
        (asks("q", 1, 1), "quota: queue q has no flavor for memory"),
        (
            replace(asks("q", 1), requests=(("b", 1), ("a", 1), ("cpu", 1))),
            "quota: queue q has no flavor for a",
        ),
        (asks("lost", 1), "quota: no flavor of queue lost is for such a task"),
        (asks("open", 1, 1), ""),
        (replace(asks("q", 1), requests=(("cpu", 1), ("memory", 0))), ""),
        (replace(asks("q", 1), requests=(("cpu", 1), ("pods", 1))), ""),
    ],
)
def test_queues_say_why_they_refuse(content: TaskClass, why: str):
    cpu = FlavorGroup(("cpu",), ("own",))
    book = stated(
        StatedQuota("odd", fault="it is odd"),
        StatedQuota("q", groups=(cpu,)),
        StatedQuota("open", groups=(cpu,), uncovered=True),
        StatedQuota("lost", groups=(FlavorGroup(("cpu",), ("unknown",)),)),
    )
    draw = book.find_draw(content)
    assert draw.refused == why
    assert (draw.node == -1) is (content.queue in ("none", "odd"))


def test_flavors_whose_taints_a_task_does_not_tolerate_are_none_for_it():
    flavors = {
        "own": StatedFlavor(),
        "spot": StatedFlavor(marks=(Taint("k", "v", "NoSchedule"), Taint("l", "", "NoExecute"))),
    }
    book = stated(StatedQuota("q", groups=(FlavorGroup(("cpu",), ("spot", "own")),)), flavors=flavors)
    one, all_of_them = Toleration("k", "Exists", "", ""), Toleration("", "Exists", "", "")
    for tolerations, expected in (((), (0,)), ((one,), (0,)), ((all_of_them,), (1, 0))):
        (group,) = book.find_draw(asks(cpu=1, tolerations=tolerations)).groups
        assert group.flavors == expected, tolerations


def test_equal_draws_are_found_once():
    book = stated(StatedQuota("q", groups=(GROUP,)))
    assert book.find_draw(asks(cpu=1)) is book.find_draw(asks(cpu=1, labels=(("app", "x"),)))
    assert book.find_draw(asks(cpu=1)) is not book.find_draw(asks(cpu=2))
    assert book.find_draw(asks(cpu=1)) != book.find_draw(asks(cpu=1, flavor_group="f"))


# --- clusters --------------------------------------------------------------------------------------------------------


def cluster(*events: Event) -> Cluster:
    """Machines b (of flavor own), a (both), c (own) and d (none); a queue with 100 milli-cores of each flavor."""
    return scheduler(
        machine("b", labels={"own": "1"}),
        machine("a", labels={"own": "1", "spot": "1"}),
        machine("c", labels={"own": "1"}),
        machine("d"),
        flavor("own", own="1"),
        flavor("spot", spot="1"),
        quota("q", {"spot": {"cpu": 100}, "own": {"cpu": 100}}),
        ClassDefined(1, asks(cpu=10)),
        ClassDefined(2, task_class(10)),
        *events,
    )._cluster


def test_kinds_of_machines_are_the_sets_of_flavors_that_cover_them():
    terms = build_terms(cluster(), [asks(cpu=10)])
    covered = [terms.covers[kind].tolist() for kind in terms.kind.tolist()]
    assert covered == [[True, False], [True, True], [True, False], [False, False]]
    assert terms.covers[-1].tolist() == [True, True], "unknown machines"
    assert len(terms.covers) == 4


def test_what_tasks_on_machines_use_counts_in_the_flavor_of_their_machine():
    events: list[Event] = [
        TasksBound("b", 1, ("t", "u")),
        TasksBound("c", 1, ("v",)),
        TasksBound("b", 2, ("w",)),
    ]
    terms = build_terms(cluster(*events), [asks(cpu=10)])
    assert terms.own.tolist() == [[30, 0]]


def test_a_task_may_be_left_out():
    found = cluster(TasksBound("b", 1, ("t", "u")))
    assert build_terms(found, [], found.tasks.row_of["t"]).own.tolist() == [[10, 0]]


def test_tasks_with_a_choice_take_what_those_without_leave_in_order_of_preference():
    found = build_terms(cluster(TasksBound("a", 1, ("t",))), [])
    assert found.own.tolist() == [[0, 10]]
    events: list[Event] = [
        ClassDefined(3, asks(cpu=95)),
        TasksBound("a", 3, ("t",)),
        TasksBound("a", 1, ("u",)),
    ]
    assert build_terms(cluster(*events), []).own.tolist() == [[10, 95]]


def test_tasks_on_unknown_machines_count():
    terms = build_terms(cluster(TasksBound("unknown", 1, ("t",))), [])
    assert terms.own.sum() == 10


def test_classes_without_a_queue_draw_nothing():
    found = cluster()
    contents = [task_class(10), asks(cpu=10), asks(cpu=20), asks(cpu=10, labels=(("a", "b"),))]
    terms = build_terms(found, contents)
    assert terms.draw.tolist() == [-1, 0, 1, 0]
    assert [draw.groups[0].amounts for draw in terms.draws] == [(10,), (20,)]
    rows = [found.classes.row(number) for number in (1, 2)]
    assert number_draws(found, terms, rows).tolist() == [0, -1]
    assert number_draws(found, build_terms(found, [asks(cpu=20)]), rows).tolist() == [-1, -1]


def test_rounds_without_a_queue_have_no_quotas():
    found = cluster()
    shape_of = [found.classes.rows[found.classes.row(number)].shape for number in (1, 2)]
    assert compile_quotas(found, shape_of[1:]) is None
    terms = compile_quotas(found, shape_of)
    assert terms is not None
    assert terms.draw.tolist() == [0, -1]


def test_records_are_read_again_when_they_have_changed():
    core = scheduler(quota("q"), flavor("own"))
    book = read_stated_quotas(core._cluster)
    assert read_stated_quotas(core._cluster) is book
    core.apply([machine("a")])
    assert read_stated_quotas(core._cluster) is book
    core.apply([quota("r")])
    assert set(read_stated_quotas(core._cluster).quotas) == {"q", "r"}
    core.apply([RecordRemoved(QUOTA_RECORD, "q")])
    assert set(read_stated_quotas(core._cluster).quotas) == {"r"}


@pytest.mark.parametrize(
    ("queues", "expected"), [("q", False), ("s", True), ("qs", True), ("u", False), ("", False)]
)
def test_tasks_take_the_same_flavor_if_one_of_their_queues_says_so(queues: str, expected: bool):
    events: list[Event] = [quota("s", {"own": {"cpu": 100}}, podSetFlavors="Same")]
    for number, queue in enumerate(queues or [""], 5):
        events += [ClassDefined(number, asks(queue, 10)), TasksBound("b", number, (f"t{number}",))]
    found = cluster(*events)
    rows = [row for uid, row in found.tasks.row_of.items() if uid.startswith("t")]
    assert needs_one_flavor(found, rows) is expected
    assert not needs_one_flavor(
        scheduler(ClassDefined(1, asks("s", 10)), TasksBound("b", 1, ("t",)))._cluster, [0]
    )

"""What classes say about each other, as counters and rules."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.preferences import soft_cost
from firmament.core.constraints.ruleset import NO_RULES, ClassRules, RuleSet
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineRemoved,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.events import apply_events
from firmament.core.model import (
    HostPort,
    Requirement,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.reasons import Reason
from firmament.core.record_kinds import NAMESPACE_RECORD
from firmament.core.rules.framework.rule_counters import ResidentTasks
from firmament.core.rules.registry import compile_rules
from firmament.core.state.class_selectors import own_selector
from firmament.core.state.cluster import Cluster
from firmament.core.state.transitions import assume
from tests.support.core import machine, task_class
from tests.support.rules import app, ints, near, spread

MACHINES = {"m0": "a", "m1": "a", "m2": "b", "m3": ""}


class Scene:
    """Four machines, two of them in zone a, one in b, one in none; classes by name, which is also their app."""

    def __init__(self, **classes: TaskClass) -> None:
        self.cluster = Cluster()
        self.numbers = {name: number for number, name in enumerate(classes, 1)}
        self.apply(
            *(machine(name, labels={"zone": zone} if zone else {}) for name, zone in MACHINES.items()),
            *(ClassDefined(self.numbers[name], _named(name, content)) for name, content in classes.items()),
        )

    def apply(self, *events: Event) -> Scene:
        apply_events(self.cluster, list(events), 0.0)
        return self

    def bind(self, **machines: str) -> Scene:
        """Tasks of a class on machines: ``web="m0 m1"``."""
        for name, wanted in machines.items():
            for at, where in enumerate(wanted.split()):
                self.apply(TasksBound(where, self.numbers[name], (f"{name}-{where}-{at}",)))
        return self

    def row(self, name: str) -> int:
        return self.cluster.classes.row(self.numbers[name])

    def compiled(self, *waiting: str, without: str = "") -> RuleSet:
        task = self.cluster.tasks.row_of[without] if without else -1
        return compile_rules(self.cluster, [self.row(name) for name in waiting], without=task)

    def rules(self, *waiting: str) -> tuple[RuleSet, ClassRules]:
        found = self.compiled(*waiting)
        return found, found.rules(0)

    def open_to(self, name: str) -> list[int]:
        """Machines that the rules leave to a class."""
        allowed = RuleState(self.compiled(name)).find_allowed(0)
        return [0, 1, 2, 3] if allowed is None else np.flatnonzero(allowed).tolist()


def _named(name: str, content: TaskClass) -> TaskClass:
    return replace(
        content,
        labels=content.labels or (("app", name.partition("_")[0]),),
        namespace=content.namespace or "n",
    )


def starts(found: RuleSet, numbers: list[int]) -> list[list[int]]:
    return [found.counters[number].start.tolist() for number in numbers]


# --- who has rules ---------------------------------------------------------------------------------------------------


def test_no_rules_without_terms_or_machines():
    assert Scene(web=task_class()).bind(web="m0").compiled("web") is NO_RULES
    nowhere = Cluster()
    apply_events(nowhere, [ClassDefined(1, task_class(anti_affinity=near("web")))], 0.0)
    assert compile_rules(nowhere, [0]) is NO_RULES


def test_terms_of_classes_that_neither_wait_nor_run_do_not_count():
    scene = Scene(web=task_class(), loner=task_class(anti_affinity=near("web")))
    assert scene.compiled("web") is NO_RULES
    assert scene.bind(loner="m0").compiled("web").of


def test_nobody_waits():
    scene = Scene(web=task_class(anti_affinity=near("web"))).bind(web="m0")
    assert scene.compiled() is NO_RULES


def test_a_class_of_two_priorities_has_one_set_of_rules():
    found, own = Scene(web=task_class(anti_affinity=near("web"))).rules("web", "web")
    assert found.rules(1) is own
    assert own.adds == tuple(range(len(found.counters)))


# --- anti-affinity ---------------------------------------------------------------------------------------------------


def test_anti_affinity_counts_whom_it_selects():
    scene = Scene(web=task_class(), loner=task_class(anti_affinity=near("web"))).bind(web="m1 m1 m3")
    found, own = scene.rules("loner")
    assert [each.reason for each in own.exclusions] == [Reason.TOO_NEAR]
    assert starts(found, [own.exclusions[0].counter]) == [[2, 0]]
    assert own.adds == ()
    assert scene.open_to("loner") == [2, 3]


def test_anti_affinity_holds_against_those_whom_it_selects():
    scene = Scene(web=task_class(), loner=task_class(anti_affinity=near("web"))).bind(loner="m2")
    _, own = scene.rules("web")
    assert [each.reason for each in own.exclusions] == [Reason.KEPT_OFF]
    assert scene.open_to("web") == [0, 1, 3]
    assert scene.open_to("loner") == [0, 1, 2, 3]


def test_anti_affinity_to_oneself():
    scene = Scene(web=task_class(anti_affinity=near("web"))).bind(web="m0")
    found, own = scene.rules("web")
    assert [each.reason for each in own.exclusions] == [Reason.TOO_NEAR, Reason.KEPT_OFF]
    assert own.excludes_itself()
    state = RuleState(found)
    state.add(0, 2)
    assert [state.allows(0, row) for row in range(4)] == [False, False, False, True]


def test_waiting_classes_count_for_each_other():
    scene = Scene(web=task_class(), loner=task_class(anti_affinity=near("web")))
    found, _ = scene.rules("web", "loner")
    state = RuleState(found)
    state.add(0, 0)
    assert [state.allows(1, row) for row in range(4)] == [False, False, True, True]
    state.add(1, 2)
    assert [state.allows(0, row) for row in range(4)] == [True, True, False, True]


# --- affinity --------------------------------------------------------------------------------------------------------


def test_all_terms_of_an_affinity_must_match_one_task():
    both = (("app", "web"), ("tier", "back"))
    scene = Scene(
        web=task_class(),
        web_back=task_class(labels=both),
        follower=task_class(
            affinity=(
                TaskTerm("zone", app("web")),
                TaskTerm("zone", TaskSelector((Requirement("tier", "In", ("back",)),))),
            )
        ),
    )
    assert scene.bind(web="m2").open_to("follower") == []
    assert scene.bind(web_back="m0").open_to("follower") == [0, 1]


def test_a_group_that_wants_to_stay_together_starts_where_it_has_a_domain():
    scene = Scene(web=task_class(affinity=near("web")))
    assert scene.open_to("web") == [0, 1, 2]
    assert scene.bind(web="m2").open_to("web") == [2]


def test_a_task_where_its_affinity_has_no_domain_begins_no_group():
    scene = Scene(web=task_class(affinity=near("web"))).bind(web="m3")
    assert scene.open_to("web") == [0, 1, 2]


def test_a_task_that_one_of_its_terms_does_not_select_cannot_begin():
    terms = (*near("web"), *near("other"))
    assert Scene(web=task_class(affinity=terms)).open_to("web") == []


def test_where_only_unsettled_tasks_draw_others_one_of_them_is_named():
    scene = Scene(web=task_class(), follower=task_class(affinity=near("web")))
    scene.apply(TasksSubmitted(1, ("assumed-0", "assumed-2")))
    tasks = scene.cluster.tasks
    rows = np.array([tasks.row_of["assumed-0"], tasks.row_of["assumed-2"]])
    assume(scene.cluster, rows, ints(0, 2))
    found, own = scene.rules("follower")
    assert own.attraction is not None
    (number,) = own.attraction.counters
    assert found.counters[number].start.tolist() == [1, 1]
    assert found.counters[number].settled.tolist() == [0, 0]
    assert found.unsettled == {(number, 0): "assumed-0", (number, 1): "assumed-2"}
    found, _ = scene.bind(web="m1").rules("follower")
    assert found.unsettled == {(number, 1): "assumed-2"}


# --- namespaces ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [0, 1, 2, 3]),  # its own
        ({"namespaces": ("other",)}, [2, 3]),
        ({"namespaces": ("n", "third")}, [0, 1, 2, 3]),
        ({"namespace_labels": ()}, [2, 3]),
        ({"namespace_labels": (Requirement("team", "In", ("x",)),)}, [2, 3]),
        ({"namespace_labels": (Requirement("team", "In", ("y",)),)}, [0, 1, 2, 3]),
    ],
)
def test_terms_select_by_namespace(more: dict[str, object], expected: list[int]):
    term = TaskTerm("zone", app("web", **more))
    scene = Scene(web=task_class(namespace="other"), loner=task_class(anti_affinity=(term,)))
    record = json.dumps({"labels": {"team": "x"}}).encode()
    scene.apply(RecordUpserted(NAMESPACE_RECORD, "other", record)).bind(web="m0")
    assert scene.open_to("loner") == expected


def test_terms_follow_the_labels_of_namespaces():
    term = TaskTerm("zone", app("web", namespace_labels=(Requirement("team", "In", ("x",)),)))
    scene = Scene(web=task_class(namespace="other"), loner=task_class(anti_affinity=(term,))).bind(web="m0")
    assert scene.open_to("loner") == [0, 1, 2, 3]
    scene.apply(RecordUpserted(NAMESPACE_RECORD, "other", b'{"labels": {"team": "x"}}'))
    assert scene.open_to("loner") == [2, 3]
    assert scene.bind(loner="m2").open_to("web") == [0, 1, 3]


def test_a_selector_without_namespaces_means_its_owners():
    content = task_class(namespace="mine")
    assert own_selector(app("web"), content).namespaces == ("mine",)
    assert own_selector(app("web", namespaces=("x",)), content).namespaces == ("x",)
    assert own_selector(app("web", namespace_labels=()), content).namespaces == ()


# --- topology spread -------------------------------------------------------------------------------------------------


def test_spread_counts_tasks_on_machines_that_count():
    content = task_class(spread=spread("web"), node_selector=(("zone", "a"),))
    scene = Scene(web=content, web_plain=task_class()).bind(web_plain="m0 m2 m2 m3")
    found, own = scene.rules("web")
    (rule,) = own.spreadings
    assert found.counters[rule.counter].domain.tolist() == [0, 0, -1, -1]
    assert found.counters[rule.counter].start.tolist() == [1, 0]
    assert rule.key_domain.tolist() == [0, 0, 1, -1]
    assert rule.counted.tolist() == [True, False]
    assert (rule.own, rule.max_skew, rule.min_domains) == (1, 1, 0)


def test_policies_decide_which_machines_count():
    ignoring = spread("web", ignore_node_affinity=True, max_skew=2, min_domains=3)
    scene = Scene(web=task_class(spread=ignoring, node_selector=(("zone", "a"),))).bind(web="m0 m2 m2")
    found, own = scene.rules("web")
    (rule,) = own.spreadings
    assert found.counters[rule.counter].start.tolist() == [1, 2]
    assert rule.counted.tolist() == [True, True]
    assert (rule.max_skew, rule.min_domains) == (2, 3)


def test_machines_must_have_the_keys_of_all_required_rules():
    rules = (*spread("web"), *spread("web", key="rack"), *spread("web", key="disk", required=False))
    scene = Scene(web=task_class(spread=rules))
    scene.apply(machine("m0", labels={"zone": "a", "rack": "r"}), machine("m3", labels={"rack": "r"}))
    found, own = scene.rules("web")
    assert [found.counters[each.counter].domain.tolist() for each in own.spreadings] == [
        [0, -1, -1, -1],
        [0, -1, -1, -1],
    ]
    assert own.spreadings[1].key_domain.tolist() == [0, -1, -1, 0]
    assert len(own.soft_spreadings) == 1


def test_tasks_that_are_being_deleted_count_for_everything_but_spread():
    scene = Scene(
        web_ending=task_class(terminating=True),
        web=task_class(spread=spread("web")),
        loner=task_class(anti_affinity=near("web")),
    ).bind(web_ending="m0 m0 m0")
    assert scene.open_to("web") == [0, 1, 2]
    assert scene.open_to("loner") == [2, 3]


def test_a_rule_that_does_not_count_its_own_class():
    _, own = Scene(web=task_class(spread=spread("db"))).rules("web")
    assert own.spreadings[0].own == 0
    assert own.adds == ()


def test_rules_of_equal_content_share_counters():
    one, two = task_class(cpu=1, spread=spread("web")), task_class(cpu=2, spread=spread("web"))
    found, _ = Scene(web=one, web_two=two).rules("web", "web_two")
    assert len(found.counters) == 1
    assert found.rules(0).adds == found.rules(1).adds == (0,)


def test_soft_rules_weigh_by_their_number_of_domains():
    soft = (*spread("web", required=False), *spread("web", key="rack", required=False, max_skew=3))
    scene = Scene(web=task_class(spread=soft))
    scene.apply(
        *(
            machine(name, labels={"zone": zone or "c", **({"rack": "r"} if zone else {})})
            for name, zone in MACHINES.items()
        )
    ).bind(web="m0")
    found, own = scene.rules("web")
    zone, rack = own.soft_spreadings
    assert zone.factor == pytest.approx(np.log(2 + 2))  # machine 3 lacks the other rule's key
    assert rack.factor == pytest.approx(np.log(1 + 2))
    assert (zone.max_skew, rack.max_skew) == (1, 3)
    assert zone.key_domain.tolist() == [0, 0, 1, -1]
    assert found.counters[zone.counter].start.tolist()[:2] == [1, 0]
    assert not own.binding


# --- preferences -----------------------------------------------------------------------------------------------------


def weights(scene: Scene, name: str) -> list[tuple[list[int], int]]:
    """(counts per zone, weight) of a class's inclinations."""
    found, own = scene.rules(name)
    return [(found.counters[each.counter].start.tolist(), each.weight) for each in own.inclinations]


def test_preferred_terms_weigh_whom_they_select():
    content = task_class(
        preferred_affinity=near("web", weight=30), preferred_anti_affinity=near("db", weight=7)
    )
    scene = Scene(web=task_class(), db=task_class(), api=content).bind(web="m0 m2", db="m2 m2")
    assert weights(scene, "api") == [([1, 1], 30), ([0, 2], -7)]


def test_terms_of_others_weigh_for_whom_they_select():
    scene = Scene(
        web=task_class(),
        liking=task_class(preferred_affinity=near("web", weight=30)),
        avoiding=task_class(preferred_anti_affinity=near("web", weight=7)),
        needing=task_class(affinity=near("web")),
    ).bind(liking="m0", avoiding="m2 m2", needing="m1 m2")
    # a required term weighs 1 (hardPodAffinityWeight); those who only run are put together
    assert sorted(weights(scene, "web")) == [([0, 14], -1), ([31, 1], 1)]


def test_who_only_runs_costs_one_counter_per_topology_however_many_terms_there_are():
    runs = {
        f"runs{number}": task_class(
            anti_affinity=near("web", key=("zone", "rack")[number % 2]),
            preferred_affinity=near("web", weight=number + 1),
        )
        for number in range(20)
    }
    scene = Scene(web=task_class(), **runs).bind(**dict.fromkeys(runs, "m2"))
    found, own = scene.rules("web")
    assert [each.reason for each in own.exclusions] == [Reason.KEPT_OFF, Reason.KEPT_OFF]
    assert [found.counters[each.counter].start.tolist() for each in own.inclinations] == [[0, 210]]
    allowed = RuleState(found).find_allowed(0)
    assert allowed is not None
    assert allowed.tolist() == [True, True, False, True]


def test_likes_and_dislikes_of_those_who_run_that_add_up_to_nothing_still_count():
    scene = Scene(
        web=task_class(),
        liking=task_class(preferred_affinity=near("web", weight=7)),
        avoiding=task_class(preferred_anti_affinity=near("web", weight=7)),
    ).bind(liking="m0", avoiding="m2")
    found, _ = scene.rules("web")
    soft = soft_cost(RuleState(found), 0, np.ones(4, dtype=np.bool_))
    assert soft is not None
    assert soft.raw.tolist() == [7, 7, -7, 0]


def test_a_preference_for_ones_like_works_both_ways():
    scene = Scene(web=task_class(preferred_anti_affinity=near("web", weight=10))).bind(web="m0")
    assert weights(scene, "web") == [([1, 0], -20)]  # as one who prefers, and as one who is preferred


# --- ports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "wanted", "conflict"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80), HostPort(80, "UDP"), False),
        (HostPort(80, ip="1.1.1.1"), HostPort(80), True),
        (HostPort(80), HostPort(80, ip="1.1.1.1"), True),
        (HostPort(80, ip="1.1.1.1"), HostPort(80, ip="1.1.1.1"), True),
        (HostPort(80, ip="1.1.1.1"), HostPort(80, ip="2.2.2.2"), False),
    ],
)
def test_ports_conflict_by_protocol_and_address(taken: HostPort, wanted: HostPort, conflict: bool):
    scene = Scene(web=task_class(ports=(taken,)), api=task_class(ports=(wanted,))).bind(web="m1")
    assert scene.open_to("api") == ([0, 2, 3] if conflict else [0, 1, 2, 3])
    if conflict:
        _, own = scene.rules("api")
        assert {each.reason for each in own.exclusions} == {Reason.PORTS_TAKEN}
    found = scene.compiled("api", "web")
    assert found is not None
    state = RuleState(found)
    state.add(0, 2)
    assert state.allows(1, 2) is not conflict
    assert state.allows(1, 3)


def test_a_task_takes_its_ports_from_its_like():
    found, own = Scene(web=task_class(ports=(HostPort(80), HostPort(443)))).rules("web")
    assert own.excludes_itself()
    state = RuleState(found)
    state.add(0, 3)
    assert [state.allows(0, row) for row in range(4)] == [True, True, True, False]
    assert not any(each.coarse for each in found.counters)


# --- who is there ----------------------------------------------------------------------------------------------------


def test_a_task_may_be_left_out():
    scene = Scene(web=task_class(anti_affinity=near("web"))).bind(web="m0")
    found = scene.compiled("web", without="web-m0-0")
    assert found is not None
    assert RuleState(found).allows(0, 1)


def test_machines_that_go_take_their_tasks_out_of_the_count():
    scene = Scene(web=task_class(), loner=task_class(anti_affinity=near("web"))).bind(web="m0 m2")
    assert scene.open_to("loner") == [3]
    scene.apply(MachineRemoved("m0"))  # the last one, in no zone, takes its row
    assert scene.open_to("loner") == [0, 1]
    scene.apply(machine("m0", labels={"zone": "a"}))
    assert scene.open_to("loner") == [0]


def test_inhabitants_by_class():
    scene = Scene(web=task_class(cpu=1), db=task_class(cpu=2), idle=task_class(cpu=3))
    scene.bind(db="m2", web="m0 m3").apply(TasksSubmitted(2, ("waits",)), TasksSubmitted(2, ("assumed",)))
    tasks = scene.cluster.tasks
    assume(scene.cluster, np.array([tasks.row_of["assumed"]]), ints(1))
    web, db, idle = (scene.row(name) for name in ("web", "db", "idle"))
    found = ResidentTasks(scene.cluster)
    assert found.classes.tolist() == sorted([web, db])
    assert sorted(found.machines([db]).tolist()) == [1, 2]
    assert found.machines([db], settled=True).tolist() == [2]
    assert sorted(found.machines([db, web]).tolist()) == [0, 1, 2, 3]
    assert found.machines([idle]).tolist() == found.tasks([idle]).tolist() == []
    assert {tasks.uid[row] for row in found.tasks([db])} == {"db-m2-0", "assumed"}
    without = ResidentTasks(scene.cluster, without=tasks.row_of["assumed"])
    assert without.machines([db]).tolist() == [2]


def test_ports_that_the_same_classes_use_share_a_counter():
    many = tuple(HostPort(port) for port in range(1, 1_001))
    cluster = Cluster()
    apply_events(
        cluster,
        [
            machine("m"),
            ClassDefined(1, task_class(ports=many)),
            ClassDefined(2, task_class(ports=(*many[:10], HostPort(5_000)))),
            TasksBound("m", 2, ("there",)),
        ],
        0.0,
    )
    rules = compile_rules(cluster, [0, 1])
    assert len(rules.counters) <= 3
    state = RuleState(rules)
    assert not state.allows(0, 0)
    assert not state.allows(1, 0)

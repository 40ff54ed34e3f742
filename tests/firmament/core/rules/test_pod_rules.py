"""What each rule between tasks says of a class by itself: cures, checks, whom it awaits, and which disks are shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from firmament.core.changes import ChangedMachine, CureKind, CureProposal
from firmament.core.configuration import RoundOptions
from firmament.core.constraints.counters import RuleState
from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.label_levels import LabelLevels
from firmament.core.model import Disk, HostPort, Machine, SpreadRule, TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.framework.pod_rule import PodRule
from firmament.core.rules.node_ports import NodePorts
from firmament.core.rules.pod_affinity import PodAffinity, name_topology_constraint
from firmament.core.rules.registry import (
    POD_RULES,
    compile_rules,
    constraint_behind,
    count_checks_of_pod_rules,
    count_pairing,
    prefers_company,
)
from firmament.core.rules.topology_spread import TopologySpread
from firmament.core.rules.volumes.shared_disks import SharedDisks
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, placed, scheduler, task_class
from tests.support.rules import app, near, spread

MACHINE = Machine("m", {"cpu": 1})
LEVELS = LabelLevels(
    [
        {"host": f"h{index}", "shelf": f"s{index // 2}", "rack": f"r{index // 4}", "zone": f"z{index // 8}"}
        for index in range(16)
    ]
)


def cures(rule: PodRule, content: TaskClass) -> list[CureProposal]:
    found = list(rule.cures(ChangedMachine(content, MACHINE, {}, LEVELS)))
    assert all(each.change.machine is MACHINE for each in found)
    assert all(len(each.steps) == 1 for each in found)
    return found


def steps(found: Iterable[CureProposal]) -> list[tuple[object, ...]]:
    return [
        (step.kind, step.subject, step.before, step.after) for proposal in found for step in proposal.steps
    ]


# --- NodePorts -------------------------------------------------------------------------------------------------------


def test_ports_are_dropped_one_at_a_time():
    ports = (HostPort(80), HostPort(53, "UDP", "10.0.0.1"), HostPort(81))
    found = cures(NodePorts(), TaskClass(ports=ports, namespace="n"))
    assert steps(found) == [
        (CureKind.DROP, "hostPort 80/TCP", None, None),
        (CureKind.DROP, "hostPort 53/UDP", None, None),
        (CureKind.DROP, "hostPort 81/TCP", None, None),
    ]
    left = [each.change.content for each in found]
    assert left == [
        TaskClass(ports=kept, namespace="n") for kept in (ports[1:], (ports[0], ports[2]), ports[:2])
    ]
    assert NodePorts().count_checks(TaskClass(ports=ports)) == 3
    assert list(NodePorts().select_awaited_tasks(TaskClass(ports=ports))) == []


# --- InterPodAffinity ------------------------------------------------------------------------------------------------


def test_anti_affinity_is_dropped_or_stated_over_a_finer_label():
    terms = (*near("web"), *near("db", key="host"))
    content = TaskClass(anti_affinity=terms)
    found = cures(PodAffinity(), content)
    by_zone = "required podAntiAffinity by zone"
    assert steps(found) == [
        (CureKind.DROP, by_zone, 0, None),
        (CureKind.WIDEN, by_zone, 0, "rack"),
        (CureKind.WIDEN, by_zone, 0, "shelf"),
        (CureKind.DROP, "required podAntiAffinity by host", 1, None),
    ]
    left = [each.change.content.anti_affinity for each in found if each.change.content]
    assert left == [
        terms[1:],
        (replace(terms[0], topology_key="rack"), terms[1]),
        (replace(terms[0], topology_key="shelf"), terms[1]),
        terms[:1],
    ]


def test_affinity_is_dropped_or_stated_over_a_coarser_label():
    terms = (*near("web", key="host"), *near("db"))
    found = cures(PodAffinity(), TaskClass(affinity=terms))
    by_host = "required podAffinity by host"
    assert steps(found) == [
        (CureKind.DROP, by_host, 0, None),
        (CureKind.WIDEN, by_host, 0, "shelf"),
        (CureKind.WIDEN, by_host, 0, "rack"),
        (CureKind.DROP, "required podAffinity by zone", 1, None),
    ]
    left = [each.change.content.affinity for each in found if each.change.content]
    assert left[0] == terms[1:]
    assert left[1] == (replace(terms[0], topology_key="shelf"), terms[1])
    assert left[3] == terms[:1]


def test_preferred_terms_need_no_cure():
    content = TaskClass(
        preferred_affinity=near("web", weight=1), preferred_anti_affinity=near("db", weight=1)
    )
    assert cures(PodAffinity(), content) == []


EVERY_KIND = TaskClass(
    affinity=near("a"),
    anti_affinity=near("b"),
    preferred_affinity=near("c", weight=5),
    preferred_anti_affinity=(*near("d", weight=5), *near("e", weight=5)),
)


def test_tasks_await_whom_their_required_terms_select():
    rule = PodAffinity()
    assert list(rule.select_awaited_tasks(EVERY_KIND)) == [app("a"), app("b")]
    assert list(rule.select_excluded_tasks(EVERY_KIND)) == [app("b")]


def test_each_term_takes_eight_looks_and_those_of_its_selector():
    assert PodAffinity().count_checks(EVERY_KIND) == 5 * 8 + 5
    assert PodAffinity().count_pairing(EVERY_KIND) == 5
    assert PodAffinity().count_checks(TaskClass()) == 0
    assert count_pairing(EVERY_KIND) == 5
    assert count_pairing(TaskClass(spread=spread("a"))) == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, False),
        ({"affinity": near("a"), "anti_affinity": near("a")}, False),
        ({"preferred_affinity": near("a", weight=1)}, True),
        ({"preferred_anti_affinity": near("a", weight=1)}, True),
        ({"spread": spread("a")}, False),
        ({"spread": spread("a", required=False)}, True),
        ({"spread": (*spread("a"), *spread("a", required=False))}, True),
        ({"ports": (HostPort(80),), "disks": (Disk("d"),)}, False),
    ],
)
def test_who_has_preferences(content: dict[str, object], expected: bool):
    assert prefers_company(TaskClass(**content)) is expected  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], {}),
        ([near("web")], {}),
        ([near("job-1", key="rack")], {"pod affinity rules": "the topology constraint by rack"}),
        (
            [near("job-1", key="rack"), near("job-1", key="zone"), near("job-1", key="rack")],
            {"pod affinity rules": "the topology constraint by rack, zone"},
        ),
        (
            [(*near("job-1", key="rack"), *near("web"))],
            {"pod affinity rules": "pod affinity rules and the topology constraint by rack"},
        ),
    ],
    ids=["none", "other", "own", "two labels", "both"],
)
def test_a_term_about_nothing_but_the_gang_is_its_topology_constraint(terms, expected: dict[str, str]):
    assert name_topology_constraint([TaskClass(affinity=each) for each in terms], "job-1") == expected


# --- PodTopologySpread -----------------------------------------------------------------------------------------------


def test_required_spread_is_widened_by_one_then_dropped():
    rules: tuple[SpreadRule, ...] = (*spread("a", required=False), *spread("a", max_skew=3), *spread("b"))
    found = cures(TopologySpread(), TaskClass(spread=rules))
    subject = "topologySpreadConstraint by zone"
    assert steps(found) == [
        (CureKind.WIDEN, subject, 1, 4),
        (CureKind.DROP, subject, 1, None),
        (CureKind.WIDEN, subject, 2, 2),
        (CureKind.DROP, subject, 2, None),
    ]
    assert [each.change.content.spread for each in found if each.change.content] == [
        (rules[0], replace(rules[1], max_skew=4), rules[2]),
        (rules[0], rules[2]),
        (rules[0], rules[1], replace(rules[2], max_skew=2)),
        rules[:2],
    ]


def test_spread_takes_24_looks_and_awaits_whom_required_rules_count():
    content = TaskClass(spread=(*spread("a"), *spread("b", required=False)))
    assert TopologySpread().count_checks(content) == 2 * 24 + 2
    assert list(TopologySpread().select_awaited_tasks(content)) == [app("a")]
    assert list(TopologySpread().select_excluded_tasks(content)) == []
    assert count_checks_of_pod_rules(replace(content, affinity=near("a"))) == 50 + 9
    assert count_checks_of_pod_rules(TaskClass()) == 0


# --- disks -----------------------------------------------------------------------------------------------------------


def open_to(waiting: Disk, running: Disk) -> bool:
    """Whether a task with a disk may join one that runs with a disk."""
    cluster = Cluster()
    events: list[Event] = [
        machine("m"),
        ClassDefined(1, task_class(disks=(running,))),
        ClassDefined(2, task_class(disks=(waiting,), labels=(("other", "1"),))),
        TasksBound("m", 1, ("t",)),
    ]
    apply_events(cluster, events, 0.0)
    found = compile_rules(cluster, [cluster.classes.row(2)])
    reasons = {each.reason for each in found.rules(0).exclusions}
    assert reasons <= {Reason.CLAIM_IN_USE if waiting.claim else Reason.NO_DISK}
    return RuleState(found).allows(0, 0)


READS, WRITES = Disk("d", read_only=True), Disk("d")
READS_CLAIM, WRITES_CLAIM = Disk("d", read_only=True, claim=True), Disk("d", claim=True)


@pytest.mark.parametrize(
    ("waiting", "running", "expected"),
    [
        (READS, READS, True),
        (READS, WRITES, False),
        (WRITES, READS, False),
        (WRITES, WRITES, False),
        (WRITES, Disk("other"), True),
        (WRITES, WRITES_CLAIM, True),
        (WRITES_CLAIM, WRITES_CLAIM, False),
        (READS_CLAIM, WRITES_CLAIM, False),
        (READS_CLAIM, READS_CLAIM, True),
    ],
)
def test_disks_are_shared_only_by_tasks_that_all_read(waiting: Disk, running: Disk, expected: bool):
    assert open_to(waiting, running) is expected


def test_tasks_of_one_class_that_write_a_disk_keep_off_each_other():
    cluster = Cluster()
    events: list[Event] = [machine("m"), machine("n"), ClassDefined(1, task_class(disks=(WRITES,)))]
    apply_events(cluster, events, 0.0)
    state = RuleState(compile_rules(cluster, [0]))
    assert [state.allows(0, row) for row in range(2)] == [True, True]
    state.add(0, 0)
    assert [state.allows(0, row) for row in range(2)] == [False, True]


def test_a_disk_is_no_cure_and_takes_a_look():
    content = TaskClass(disks=(READS, WRITES))
    assert cures(SharedDisks(), content) == []
    assert SharedDisks().count_checks(content) == 2


# --- all of them -----------------------------------------------------------------------------------------------------


def test_every_reason_between_tasks_has_a_name_for_its_constraint():
    assert {reason: constraint_behind(reason) for rule in POD_RULES for reason in rule.called} == {
        Reason.NOT_NEAR: "pod affinity rules",
        Reason.TOO_NEAR: "pod anti-affinity rules",
        Reason.KEPT_OFF: "pod anti-affinity rules",
        Reason.SKEWED: "pod topology spread constraints",
        Reason.NO_DOMAIN: "pod topology spread constraints",
        Reason.PORTS_TAKEN: "host ports",
        Reason.NO_DISK: "disks",
        Reason.CLAIM_IN_USE: "claims for one pod at a time",
    }
    assert constraint_behind(Reason.INSUFFICIENT) == ""


def test_a_term_that_running_and_waiting_tasks_state_holds_for_both():
    """Whoever states it already runs on one machine, and comes to another in this round."""
    guard = task_class(100, labels=(("app", "guard"),), anti_affinity=near("x", "host"))
    coming = replace(guard, requests=(("cpu", 50),), machine="n")
    core = scheduler(
        *(machine(name, labels={"host": name}) for name in "mn"),
        ClassDefined(1, guard),
        ClassDefined(2, coming),
        ClassDefined(3, task_class(10, labels=(("app", "x"),))),
        TasksBound("m", 1, ("runs",)),
        TasksSubmitted(2, ("comes",), priority=9),
        TasksSubmitted(3, ("x",)),
        options=RoundOptions(preemption=False),
    )
    assert placed(core.run_round()) == {"comes": "n"}
    core.apply([machine("o", labels={"host": "o"})])
    assert placed(core.run_round()) == {"x": "o"}

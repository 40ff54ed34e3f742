"""Which machines count for a rule of topology spread."""

from __future__ import annotations

from firmament.core.events import Event
from firmament.core.intake.events import apply_events
from firmament.core.model import (
    NodeSelectorTerm,
    Requirement,
    SpreadRule,
    Taint,
    TaskClass,
    TaskSelector,
    Toleration,
)
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.rule_counters import ResidentTasks
from firmament.core.rules.topology_spread import TopologySpread, find_eligible
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class

BATCH = Taint("dedicated", "batch", "NoSchedule")


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    apply_events(made, list(events), 0.0)
    return made


def count_for(
    made: Cluster, content: TaskClass, *keys: str, affinity: bool, taints: bool
) -> tuple[object, list[int]]:
    """The mark, and the machines that count, by node inclusion policies."""
    rule = SpreadRule(
        "zone", TaskSelector(), 1, required=True, ignore_node_affinity=not affinity, honor_taints=taints
    )
    compilation = Compilation(made, [], ResidentTasks(made), [])
    mark, found = find_eligible(compilation, content, rule, keys)
    assert find_eligible(compilation, content, rule, keys)[1] is found, "it is worked out once"
    return mark, found.nonzero()[0].tolist()


def test_no_machines():
    assert count_for(cluster(), task_class(), "zone", affinity=True, taints=True)[1] == []


def test_machines_that_count_for_a_spread():
    made = cluster(
        machine("plain", labels={"zone": "a", "disk": "ssd"}),
        machine("tainted", labels={"zone": "a", "disk": "ssd"}, taints=[BATCH]),
        machine("slow", labels={"zone": "b", "disk": "hdd"}),
        machine("nowhere", labels={"disk": "ssd"}),
        machine("soft", labels={"zone": "b"}, taints=[Taint("spot", "", "PreferNoSchedule")]),
    )
    selecting = task_class(node_selector=(("disk", "ssd"),))
    requiring = task_class(required=(NodeSelectorTerm((Requirement("disk", "In", ("hdd",)),)),))
    tolerant = task_class(tolerations=(Toleration("dedicated", "Exists"),))

    def eligible(content: TaskClass, *keys: str, affinity: bool = True, taints: bool = False) -> list[int]:
        return count_for(made, content, *keys, affinity=affinity, taints=taints)[1]

    assert eligible(task_class(), "zone") == [0, 1, 2, 4]
    assert eligible(task_class(), "zone", "disk") == [0, 1, 2]
    assert eligible(task_class()) == [0, 1, 2, 3, 4]
    assert eligible(selecting, "zone") == [0, 1]
    assert eligible(selecting, "zone", affinity=False) == [0, 1, 2, 4]
    assert eligible(requiring, "zone") == [2]
    assert eligible(task_class(), "zone", taints=True) == [0, 2, 4]
    assert eligible(tolerant, "zone", taints=True) == [0, 1, 2, 4]
    assert eligible(selecting, "zone", taints=True) == [0]


def test_equal_rules_have_equal_marks():
    made = cluster(machine("m"))

    def mark(content: TaskClass, *keys: str, affinity: bool = True, taints: bool = True) -> object:
        return count_for(made, content, *keys, affinity=affinity, taints=taints)[0]

    ssd = task_class(node_selector=(("disk", "ssd"),))
    tolerant = task_class(tolerations=(Toleration("dedicated", "Exists"),))
    assert mark(task_class(cpu=1), "a", "b") == mark(task_class(cpu=2, labels=(("x", "y"),)), "b", "a", "b")
    assert mark(ssd, "a", affinity=False) == mark(task_class(), "a", affinity=False)
    assert mark(tolerant, "a", taints=False) == mark(task_class(), "a", taints=False)
    assert len({mark(ssd, "a"), mark(task_class(), "a"), mark(tolerant, "a"), mark(ssd, "b")}) == 4
    assert len({mark(ssd, "a", affinity=a, taints=t) for a in (True, False) for t in (True, False)}) == 4


def test_each_rule_is_24_looks_and_those_of_its_selector():
    labels = (Requirement("app", "In", ("a", "b")), Requirement("tier", "Exists", ()))
    selectors = [TaskSelector(labels=labels), TaskSelector()]
    content = TaskClass(spread=tuple(SpreadRule("zone", each, 1, required=True) for each in selectors))
    assert TopologySpread().count_checks(content) == 2 * 24 + 2

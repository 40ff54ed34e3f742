"""Domains of machines, and those that count for topology spread."""

from __future__ import annotations

from firmament.core.events import Event, MachineRemoved
from firmament.core.intake.events import apply_events
from firmament.core.model import NodeSelectorTerm, Requirement, Taint, Toleration
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import DomainsByKey
from tests.support.core import machine, task_class

BATCH = Taint("dedicated", "batch", "NoSchedule")


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    apply_events(made, list(events), 0.0)
    return made


def of(made: Cluster, key: str) -> tuple[list[int], bool]:
    found = DomainsByKey(made.machines).get(key)
    assert found.domain.max(initial=-1) < found.count
    return found.domain.tolist(), found.coarse


def test_machines_with_one_value_are_one_domain():
    made = cluster(
        machine("m0", labels={"zone": "a", "host": "m0"}),
        machine("m1", labels={"zone": "b", "host": "m1"}),
        machine("m2", labels={"zone": "a"}),
        machine("m3"),
    )
    assert of(made, "zone") == ([0, 1, 0, -1], True)
    assert of(made, "host") == ([0, 1, -1, -1], False)
    assert of(made, "rack") == ([-1] * 4, False)
    single = DomainsByKey(made.machines).single
    assert (single.domain.tolist(), single.count, single.coarse) == ([0, 1, 2, 3], 4, False)


def test_domains_follow_machines():
    made = cluster(*(machine(name, labels={"zone": zone}) for name, zone in zip("mno", "aab", strict=True)))
    assert of(made, "zone") == ([0, 0, 1], True)
    apply_events(made, [MachineRemoved("m")], 0.0)  # the last one takes its row
    assert of(made, "zone") == ([1, 0], False)
    apply_events(made, [machine("n", labels={"zone": "b"}), machine("p", labels={"zone": "c"})], 0.0)
    assert of(made, "zone") == ([1, 1, 0], True)  # nobody is in zone a any more: its number is given again


def test_no_machines():
    made = cluster()
    assert of(made, "zone") == ([], False)
    _, eligible = DomainsByKey(made.machines).eligible(
        task_class(), ["zone"], by_affinity=True, by_taints=True
    )
    assert eligible.tolist() == []


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
    topologies = DomainsByKey(made.machines)

    def eligible(content: object, *keys: str, affinity: bool = True, taints: bool = False) -> list[int]:
        _, found = topologies.eligible(content, keys, by_affinity=affinity, by_taints=taints)  # type: ignore[arg-type]
        return found.nonzero()[0].tolist()

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
    topologies = DomainsByKey(cluster(machine("m")).machines)

    def mark(content: object, *keys: str, affinity: bool = True, taints: bool = True) -> object:
        return topologies.eligible(content, keys, by_affinity=affinity, by_taints=taints)[0]  # type: ignore[arg-type]

    ssd = task_class(node_selector=(("disk", "ssd"),))
    tolerant = task_class(tolerations=(Toleration("dedicated", "Exists"),))
    assert mark(task_class(cpu=1), "a", "b") == mark(task_class(cpu=2, labels=(("x", "y"),)), "b", "a", "b")
    assert mark(ssd, "a", affinity=False) == mark(task_class(), "a", affinity=False)
    assert mark(tolerant, "a", taints=False) == mark(task_class(), "a", taints=False)
    assert len({mark(ssd, "a"), mark(task_class(), "a"), mark(tolerant, "a"), mark(ssd, "b")}) == 4
    assert len({mark(ssd, "a", affinity=a, taints=t) for a in (True, False) for t in (True, False)}) == 4

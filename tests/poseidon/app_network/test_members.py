"""The pods of applications, whatever comes and goes, against a count over all pods."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from poseidon.app_network.used_bandwidth import Demand, Members
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus
from poseidon.pods.visibility import APP_GROUP_LABEL, WORKLOAD_LABEL

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
DEMANDS = (Demand("a", "b", 10), Demand("b", "a", 3))


def pod(app_group: str, workload: str = "a", node: str = "", phase: str = "Pending") -> Pod:
    labels = {APP_GROUP_LABEL: app_group, WORKLOAD_LABEL: workload} if app_group else {}
    return Pod(ObjectMeta(labels=labels), PodSpec(node_name=node), PodStatus(phase=phase))


def labels(region: str = "", zone: str = "") -> dict[str, str]:
    return {REGION: region, ZONE: zone}


def members() -> Members:
    """Nodes in two zones, of which nothing has been taken yet."""
    made = Members()
    made.set_demands("shop", DEMANDS)
    made.node_changed("n1", labels("west", "z1"))
    made.node_changed("n2", labels("west", "z2"))
    made.take_changed()
    made.take_moved()
    return made


def between(found: Members) -> dict[str, dict[str, int]]:
    return {origin: dict(row) for origin, row in found.sum_allocated()["zone"].items()}


def test_a_pod_on_a_node_is_present_running_and_takes_bandwidth_until_it_is_gone():
    found = members()
    found.pod_changed("1", pod("shop", "a", "n1", "Running"))
    found.pod_changed("2", pod("shop", "b", "n2"))
    assert (found.running("shop"), found.has_pods("shop"), between(found)) == (
        1,
        True,
        {"z1": {"z2": 10}, "z2": {"z1": 3}},
    )
    assert (found.take_changed(), found.take_moved()) == ({"shop"}, True)
    assert (found.take_changed(), found.take_moved()) == (set(), False)
    found.pod_gone("1")
    assert (found.running("shop"), found.has_pods("shop"), between(found)) == (0, True, {})
    assert (found.take_changed(), found.take_moved()) == ({"shop"}, True)
    found.pod_gone("2")
    assert not found.has_pods("shop")


@pytest.mark.parametrize(
    ("later", "changed"),
    [
        (pod("shop", "a", "n1", "Running"), set()),
        (pod("shop", "b", "n1", "Running"), {"shop"}),
        (pod("shop", "a", "n2", "Running"), {"shop"}),
        (pod("shop", "a", "n1", "Pending"), {"shop"}),
        (pod("zoo", "a", "n1", "Running"), {"shop", "zoo"}),
        (pod("", "a", "n1", "Running"), {"shop"}),
        (pod("shop", "a", "n1", "Succeeded"), {"shop"}),
        (pod("shop", "a", "n1", "Failed"), {"shop"}),
    ],
)
def test_what_changes_with_a_pod(later, changed):
    found = members()
    found.pod_changed("1", pod("shop", "a", "n1", "Running"))
    found.take_changed()
    found.take_moved()
    found.pod_changed("1", later)
    assert found.take_changed() == changed
    assert found.take_moved() is bool(changed)


def test_a_pod_without_node_moves_nothing():
    found = members()
    found.pod_changed("1", pod("shop"))
    assert (found.take_changed(), found.take_moved()) == ({"shop"}, False)
    found.pod_gone("1")
    assert (found.take_changed(), found.take_moved()) == ({"shop"}, False)
    found.pod_gone("1")
    assert (found.take_changed(), found.take_moved()) == (set(), False)


def test_the_version_counts_what_changes_with_nodes():
    found = members()
    version = found.version
    found.node_changed("n1", labels("west", "z1"))
    found.node_gone("unknown")
    found.pod_changed("1", pod("shop", "a", "n1"))
    assert found.version == version
    found.node_changed("n1", labels("east", "z1"))
    assert found.version == version + 1
    found.take_moved()
    found.node_gone("n1")
    assert (found.version, found.take_moved(), "n1" in found.domains) == (version + 2, True, False)


class Oracle:
    """Counts anew over all pods each time that it is asked."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, tuple[str, str]] = {}

    def of(self, app_group: str) -> list[Pod]:
        return [
            each
            for each in self.pods.values()
            if each.metadata.labels.get(APP_GROUP_LABEL) == app_group and not each.terminal
        ]

    def allocated(self) -> dict[str, dict[str, dict[str, int]]]:
        found: dict[str, Any] = {"region": {}, "zone": {}}
        placed = [each for each in self.of("shop") if each.spec.node_name]
        for here in placed:
            for there in placed:
                (region, zone), (other, another) = (
                    self.nodes.get(each.spec.node_name, ("", "")) for each in (here, there)
                )
                level, ends = ("region", (region, other)) if region != other else ("zone", (zone, another))
                for demand in DEMANDS:
                    pair = tuple(each.metadata.labels[WORKLOAD_LABEL] for each in (here, there))
                    if pair == demand[:2] and all(ends) and ends[0] != ends[1]:
                        row = found[level].setdefault(ends[0], {})
                        row[ends[1]] = row.get(ends[1], 0) + demand.bandwidth
        return found


@pytest.mark.parametrize("seed", range(10))
def test_pods_and_nodes_that_come_and_go_in_any_order_are_counted_as_they_are(seed):
    random, found, oracle = Random(seed), Members(), Oracle()
    found.set_demands("shop", DEMANDS)
    for _ in range(60):
        match random.randrange(4):
            case 0:
                name, where = (
                    random.choice("nmo"),
                    (random.choice(["", "r1", "r2"]), random.choice(["z1", "z2"])),
                )
                oracle.nodes[name] = where
                found.node_changed(name, labels(*where))
            case 1 if random.random() < 0.4:
                name = random.choice("nmo")
                oracle.nodes.pop(name, None)
                found.node_gone(name)
            case 2 if random.random() < 0.5:
                uid = random.choice("123456")
                oracle.pods.pop(uid, None)
                found.pod_gone(uid)
            case _:
                uid = random.choice("123456")
                made = pod(
                    random.choice(["shop", "shop", "zoo", ""]),
                    random.choice("ab"),
                    random.choice(["", "n", "m", "o"]),
                    random.choice(["Pending", "Running", "Failed"]),
                )
                oracle.pods[uid] = made
                found.pod_changed(uid, made)
        for app_group in ("shop", "zoo"):
            present = oracle.of(app_group)
            assert found.has_pods(app_group) == bool(present)
            assert found.running(app_group) == sum(each.status.phase == "Running" for each in present)
        assert found.sum_allocated() == oracle.allocated()

"""Flavors with tolerations: their queues' pods come to tainted nodes, and to those of no other flavor."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.pod_rules.tolerations_from_flavors import GivenToleration
from poseidon.queues.flavor_tolerations import list_given
from poseidon.queues.model import CoveredResources, Flavor, QuotaNode
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_gangs_by_owner import plan
from tests.poseidon.queues.test_known_queues import Stage, queued

SPOT = {"key": "spot", "operator": "Exists"}


def tainted(name: str, tier: str, effect: str = "NoSchedule") -> dict[str, Any]:
    taints = [{"key": "spot", "value": "yes", "effect": effect}]
    made = node(name, cpu=4, taints=taints)
    made["metadata"]["labels"] = {"tier": tier}
    return made


def spot_flavor(**toleration: str) -> dict[str, Any]:
    made = flavor("default", tier="spot")
    made["spec"]["tolerations"] = [{**SPOT, **toleration}]
    return made


def waiting() -> dict[str, Any]:
    made = pod("p", cpu=1)
    made["metadata"]["labels"] = {LABEL: "users"}
    return made


QUEUES = (cluster_queue("team", quotas(cpu=4, memory="100Gi")), local_queue("users", "team"))


@pytest.mark.parametrize(
    ("toleration", "effect", "comes"),
    [
        ({}, "NoSchedule", True),
        ({"effect": "NoSchedule"}, "NoSchedule", True),
        ({}, "NoExecute", False),
        ({"key": "other"}, "NoSchedule", False),
    ],
)
def test_pods_come_to_nodes_with_taints_that_keep_new_pods_off(tmp_path, toleration, effect, comes):
    nodes = tainted("n1", "spot", effect)
    bound, _ = plan(tmp_path, spot_flavor(**toleration), *QUEUES, nodes, waiting())
    assert bound == ({"p"} if comes else set())


def test_they_come_to_no_node_of_another_flavor_that_states_the_taint(tmp_path):
    other = flavor("other", tier="other")
    other["spec"]["nodeTaints"] = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]
    group = quotas(cpu=4, memory="100Gi")
    group["flavors"] = [{**group["flavors"][0], "name": name} for name in ("default", "other")]
    queues = cluster_queue("team", group), local_queue("users", "team")
    both = spot_flavor(), other, *queues, waiting()
    assert plan(tmp_path, *both, tainted("n1", "other"))[0] == set()
    other["spec"]["nodeTaints"] = []
    assert plan(tmp_path, *both, tainted("n1", "spot"))[0] == {"p"}


def test_what_a_flavor_tolerates_later_counts_for_pods_that_wait():
    stage = Stage().tell(flavor("default", tier="spot"), *QUEUES)
    stage.add(queued("p"))

    def tolerated() -> list[str]:
        stage.state.take_events()
        task_class = stage.state.tasks.get("pod-p").task.task_class
        return [each.key for each in stage.state.classes.message(task_class).tolerations]

    before = tolerated()
    stage.tell(spot_flavor())
    assert tolerated() == [*before, "spot"]
    stage.tell(flavor("default", tier="spot"))
    assert tolerated() == before


TAINT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
ALL_OF_SPOT = ({"key": "spot", "operator": "Exists"},)
OURS = GivenToleration("spot", "Exists", "")


@pytest.mark.parametrize(
    ("flavors", "given"),
    [
        ([Flavor("a", tolerations=ALL_OF_SPOT)], (OURS,)),
        ([Flavor("a")], ()),
        ([Flavor("a", tolerations=ALL_OF_SPOT, taints=(TAINT,))], (OURS,)),
        ([Flavor("a", tolerations=ALL_OF_SPOT), Flavor("b", taints=(TAINT,))], ()),
        ([Flavor("a", tolerations=ALL_OF_SPOT), Flavor("b", taints=({**TAINT, "key": "other"},))], (OURS,)),
        ([Flavor("a", tolerations=ALL_OF_SPOT), Flavor("b", {}, (TAINT,), ALL_OF_SPOT)], (OURS,)),
        ([Flavor("a", tolerations=ALL_OF_SPOT), Flavor("b", tolerations=ALL_OF_SPOT)], (OURS,)),
        ([Flavor("a", tolerations=({"key": "spot", "operator": "Exists", "effect": "NoExecute"},))], ()),
    ],
)
def test_the_tolerations_that_a_queue_gives(flavors, given):
    covered = (CoveredResources(("cpu",), tuple(each.name for each in flavors)),)
    known = {each.name: each for each in flavors}
    assert list_given(QuotaNode("q", covered=covered), known) == given
    assert list_given(QuotaNode("q", covered=(CoveredResources(("cpu",), ("lost",)),)), known) == ()
    assert list_given(None, known) == ()

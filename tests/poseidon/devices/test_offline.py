"""Devices from files: the controller's part, what a plan says of devices, and which pods stay where they are."""

from __future__ import annotations

from pathlib import Path

from poseidon.disruption_budgets.evictions import BudgetAnswers
from poseidon.embedding import load_configuration
from poseidon.kube.quarantine import Quarantine
from poseidon.manifests.loader import load_manifests
from poseidon.offline.evictability import MoveRules
from poseidon.offline.plan import make_plan
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import PriorityResolver
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import with_claims

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "15-devices"


def manifests_of(name):
    return load_manifests([str(EXAMPLE / "cluster.yaml"), str(EXAMPLE / f"{name}.yaml")])


def plan_of(name):
    return make_plan(manifests_of(name), load_configuration(None), 1_767_225_600.0)


def test_a_claim_is_made_for_each_pod_that_names_a_template():
    manifests = manifests_of("one-each")
    names = [each.metadata.name for each in manifests.devices if type(each).__name__ == "ResourceClaim"]
    assert names == [f"train-{index}-gpu" for index in range(6)]
    [status] = manifests.pods[0].status.resource_claim_statuses
    assert (status.name, status.resource_claim_name) == ("gpu", "train-0-gpu")


def test_no_device_is_planned_for_two_pods_but_by_a_shared_claim():
    given = [device for each in plan_of("one-each").bindings for device in each.devices]
    assert len(given) == len(set(given)) == 5
    [one, other] = plan_of("shared").bindings
    assert one.devices == other.devices
    assert one.as_json()["devices"] == one.devices


def test_a_pod_with_devices_is_not_moved():
    rules = MoveRules(BudgetAnswers(()), Groups(Quarantine(), PriorityResolver()))
    plain = pod("web", node="n1", owner="web")
    assert rules.refusal("pod-web", plain) == ""
    assert rules.refusal("pod-web", with_claims(plain, "c")) == "has claims of devices"

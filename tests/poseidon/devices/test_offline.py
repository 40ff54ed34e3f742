"""Devices from files: the controller's part, what a plan says of devices, and which pods stay where they are."""

from __future__ import annotations

from pathlib import Path

from poseidon.disruption_budgets.eviction_answers import BudgetAnswers
from poseidon.embedding import load_configuration
from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.quarantine import Quarantine
from poseidon.manifests.loader import load_manifests
from poseidon.offline.evictability import MoveRules
from poseidon.offline.plan import make_plan
from poseidon.pod_groups.groups import Groups
from poseidon.pods.priority_classes import PriorityResolver
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


def test_one_claim_is_made_for_all_pods_of_a_group_that_claims_devices():
    found = manifests_of("pod-group").devices
    assert [each.metadata.name for each in found if isinstance(each, ResourceClaim)] == ["pipeline-gpu"]
    [one, other] = plan_of("pod-group").bindings
    assert one.devices == other.devices
    assert (one.node, len(one.devices)) == (other.node, 1)


def test_devices_of_extended_resources_stay_given_in_later_rounds():
    names = ("cluster", "alternatives", "extended", "pod-group", "shared")
    manifests = load_manifests([str(EXAMPLE / f"{name}.yaml") for name in names])
    bindings = make_plan(manifests, load_configuration(None), 1_767_225_600.0).bindings
    found = {each.pod: [device.partition(": ")[2] for device in each.devices] for each in bindings}
    assert found["ml/decode"] == found.pop("ml/infer")
    assert found["ml/server"] == found.pop("ml/profiler")
    given = [device for devices in found.values() for device in devices]
    assert all(found.values())
    assert len(given) == len(set(given))


def test_a_pod_is_not_moved_whose_devices_do_not_go_with_it():
    rules = MoveRules(BudgetAnswers(()), Groups(Quarantine(), PriorityResolver()))
    plain = pod("web", node="n1", owner="web")
    assert rules.refusal("pod-web", plain) == ""
    assert rules.refusal("pod-web", with_claims(plain, "c")) == "has a claim of devices that others may use"
    made = with_claims(plain, made=[("gpu", "web-gpu")])
    assert rules.refusal("pod-web", made) == "has a claim of devices that is not known"


PREEMPTION = """
kind: Node
apiVersion: v1
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
kind: DeviceClass
apiVersion: resource.k8s.io/v1
metadata: {name: gpu}
spec: {}
---
kind: ResourceSlice
apiVersion: resource.k8s.io/v1
metadata: {name: s}
spec:
  {driver: d, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: a}, {name: b}]}
---
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: held, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: n1, device: a}]}}
  reservedFor: [{resource: pods, name: low, uid: low}]
---
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: wanted, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}
---
kind: Pod
apiVersion: v1
metadata: {name: low, namespace: default, uid: low}
spec: {nodeName: n1, resourceClaims: [{name: c, resourceClaimName: held}], containers: [{name: c, image: i}]}
---
kind: Pod
apiVersion: v1
metadata: {name: top, namespace: default}
spec: {priority: 9, resourceClaims: [{name: c, resourceClaimName: wanted}], containers: [{name: c, image: i}]}
"""


def test_a_more_important_pod_gets_the_devices_of_one_that_makes_way(tmp_path):
    (tmp_path / "all.yaml").write_text(PREEMPTION)
    made = make_plan(load_manifests([str(tmp_path)]), load_configuration(None), 1_767_225_600.0)
    [binding] = made.bindings
    assert (binding.pod, binding.after) == ("default/top", ("default/low",))
    assert [each.pod for each in made.preemptions] == ["default/low"]
    assert not made.pending

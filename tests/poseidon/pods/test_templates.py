"""Pods share a template if and only if their classes say the same, whichever field they differ in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.pods.classes import ClassTable
from poseidon.pods.templates import TemplateTable
from poseidon.pods.visibility import WHEN_UNTOLD, Visibility, visible_to
from tests.poseidon.pods.builders import requesting

EVERYTHING = visible_to({*WHEN_UNTOLD, "annotations:note"}, bandwidth=True)
HOST = {
    "hostNetwork": True,
    "hostUsers": True,
    "containers": [{"name": "main", "ports": [{"containerPort": 80}]}],
}
"""What a pod without more is compared with; some fields say something only beside others."""

SPLIT: dict[str, Any] = {
    "preemption_policy": "Never",
    "restart_policy": "Never",
    "active_deadline_seconds": 60,
    "termination_grace_period_seconds": 3000,
    "containers": [requesting({"cpu": 1})],
    "init_containers": [requesting({"cpu": 2})],
    "overhead": {"cpu": "250m"},
    "resources": {"requests": {"cpu": 3}},
    "node_selector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
            }
        }
    },
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "topology_spread_constraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "host_network": False,
    "host_users": False,
    "volumes": [{"name": "disk", "gcePersistentDisk": {"pdName": "d"}}],
    "priority": 9500,  # decides on Koordinator's priority class
}
BESIDE: dict[str, dict[str, Any]] = {"termination_grace_period_seconds": {"active_deadline_seconds": 60}}
"""What else a pod has to say for a field to count, where that would hide what other fields say."""
SHARED: dict[str, Any] = {
    "resource_claims": [{"name": "gpu"}],
    "node_name": "n1",
    "scheduler_name": "other",
    "priority_class_name": "high",
    "runtime_class_name": "gvisor",
    "scheduling_gates": [{"name": "wait"}],
    "workload_ref": {"name": "w", "podGroup": "g"},
    "scheduling_group": {"podGroupName": "g"},
}
_DETAILS: dict[str, list[Any]] = {
    "containers": [
        [requesting({"cpu": 1}, image="web:1")],
        [requesting({"cpu": 1}, ports=[{"containerPort": 80, "hostPort": 80}])],
        [requesting({"cpu": 1}, restartPolicyRules=[{"action": "RestartAllContainers"}])],
    ],
    "init_containers": [[requesting({"cpu": 2}, restartPolicy="Always")]],
    "resources": [{"limits": {"cpu": 3}}],
    "preemption_policy": ["PreemptLowerPriority"],
    "restart_policy": ["Always", "OnFailure"],
    "volumes": [[{"name": "other", "gcePersistentDisk": {"pdName": "d", "readOnly": True}}]],
    "affinity": [
        {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "zone",
                        "labelSelector": {"matchLabels": {"app": "x"}},
                        "matchLabelKeys": ["v"],
                    }
                ]
            }
        }
    ],
}


def wire(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(map(str.capitalize, others))


def make(spec: dict[str, Any], **metadata: Any) -> Pod:
    whole = {**HOST, **{wire(field): value for field, value in spec.items()}}
    return convert_object({"metadata": {"name": "p", "namespace": "a", **metadata}, "spec": whole}, Pod)


def test_every_field_of_a_spec_has_an_example():
    assert SPLIT.keys() | SHARED.keys() == set(PodSpec.__struct_fields__)


@pytest.mark.parametrize("field", SPLIT)
def test_pods_that_differ_in_what_a_class_says_share_none(field):
    table = ClassTable(EVERYTHING if field == "priority" else None)
    beside = BESIDE.get(field, {})
    assert table.intern(make(beside)) != table.intern(make({**beside, field: SPLIT[field]}))


@pytest.mark.parametrize("field", SHARED)
def test_pods_that_differ_otherwise_share_one(field):
    table = ClassTable(EVERYTHING)
    assert table.intern(make({})) == table.intern(make({field: SHARED[field]}))


@pytest.mark.parametrize("key", ["gpu-fraction", "gpu-memory"])
def test_a_pod_that_asks_for_a_part_of_a_gpu_as_in_kai_waits_and_says_so(key):
    table = TemplateTable(Visibility(), lambda _: False)
    asking, other = (table.intern(make({}, annotations={key: value})).plain for value in ("0.5", ""))
    assert f"metadata.annotations[{key}]: parts of GPUs" in asking.message.invalid
    assert not other.message.invalid


_FIELDS = {
    field: st.sampled_from([value, *_DETAILS.get(field, ())]) for field, value in {**SPLIT, **SHARED}.items()
}
_SPECS = st.fixed_dictionaries({}, optional=_FIELDS)
_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.sampled_from("ab"),
        "labels": st.dictionaries(st.sampled_from(["app", "v"]), st.sampled_from("12"), max_size=2),
        "annotations": st.dictionaries(
            st.sampled_from(["note", "firmament.io/x", "kubernetes.io/egress-bandwidth", "gpu-fraction"]),
            st.sampled_from(["1M", "2M"]),
            max_size=2,
        ),
    },
)
_PODS = st.builds(lambda spec, metadata: make(spec, **metadata), _SPECS, _METADATA)


@given(st.lists(_PODS, min_size=2, max_size=4), st.sampled_from([Visibility(), EVERYTHING]))
def test_a_pod_gets_the_template_that_it_would_get_alone_whoever_came_before(pods, visibility):
    together = TemplateTable(visibility, lambda _: False)
    for pod in pods:
        found, alone = together.intern(pod), TemplateTable(visibility, lambda _: False).intern(pod)
        assert found.plain.message == alone.plain.message
        assert found.plain.defects == alone.plain.defects
        assert found.images == alone.images

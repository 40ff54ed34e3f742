"""What of an object's metadata travels to models."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.nodes.machines import machine
from poseidon.pods.classes import ClassTable
from tests.poseidon.pods.builders import make_node
from tests.support.needs import visible


def make(labels: Any = None, annotations: Any = None, owner: Any = None, namespace: str = "ns") -> Pod:
    metadata = {
        "name": "p",
        "namespace": namespace,
        "labels": labels or {},
        "annotations": annotations or {},
        "ownerReferences": [{"controller": True, **owner}] if owner else [],
    }
    return convert_object({"metadata": metadata, "spec": {"containers": [{}]}}, Pod)


def test_labels_and_annotations_for_models_split_classes_and_travel():
    table = ClassTable(visible("net", "whare_map"))
    plain = table.intern(make({"app": "a"}, {"note": "x"}))
    assert table.intern(make({"app": "b"}, {"note": "y"}, namespace="other")) == plain
    sheep = table.intern(make({"taskType": "sheep", "app": "c"}))
    wanting = table.intern(make({"networkRequirement": "5"}, {"firmament.io/inputs": "[]", "note": "z"}))
    assert len({plain, sheep, wanting}) == 3
    assert dict(table.message(sheep).labels) == {"taskType": "sheep"}
    assert dict(table.message(wanting).labels) == {"networkRequirement": "5"}
    assert dict(table.message(wanting).annotations) == {"firmament.io/inputs": "[]"}


@pytest.mark.parametrize("policy", ["sjf", "whare_map"])
def test_programs_split_classes_only_for_policies_that_tell_them_apart(policy: str):
    pods = [make(owner={"kind": "Job", "name": name}) for name in ("one", "two", "one")]
    plain, telling = ClassTable(visible("cpu_mem")), ClassTable(visible(policy))
    assert [plain.intern(pod) for pod in pods] == [1, 1, 1]
    assert [telling.intern(pod) for pod in pods] == [1, 2, 1]
    assert dict(telling.message(1).annotations) == {"firmament.io/program": "ns/one"}


def test_annotations_of_nodes_for_models_travel():
    node = make_node()
    node.metadata.annotations.update({"firmament.io/network-bandwidth": "9", "other": "x"})
    assert dict(machine(node)[0].annotations) == {"firmament.io/network-bandwidth": "9"}

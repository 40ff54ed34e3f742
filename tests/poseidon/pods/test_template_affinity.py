"""Rules of affinity in templates: each kind of rule of a pod is found in its class."""

from __future__ import annotations

from typing import Any

from tests.poseidon.pods.builders import make_pod
from tests.support.task_classes import class_content


def node_term(key: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "Exists"}]}


def pod_term(key: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}


REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
AFFINITY = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [node_term("a"), node_term("b")]},
        PREFERRED: [{"weight": 1, "preference": node_term("c")}],
    },
    "podAffinity": {REQUIRED: [pod_term("d")], PREFERRED: [{"weight": 2, "podAffinityTerm": pod_term("e")}]},
    "podAntiAffinity": {
        REQUIRED: [pod_term("f")],
        PREFERRED: [{"weight": 3, "podAffinityTerm": pod_term("g")}],
    },
}


def test_every_rule_of_affinity_is_in_the_class():
    message, defects = class_content(make_pod(affinity=AFFINITY))
    assert not defects
    assert [each.key for term in message.required for each in term.labels] == ["a", "b"]
    assert [(each.weight, each.term.labels[0].key) for each in message.preferred] == [(1, "c")]
    assert [each.topology_key for each in message.affinity] == ["d"]
    assert [(each.weight, each.topology_key) for each in message.preferred_affinity] == [(2, "e")]
    assert [each.topology_key for each in message.anti_affinity] == ["f"]
    assert [(each.weight, each.topology_key) for each in message.preferred_anti_affinity] == [(3, "g")]


def test_faults_of_each_kind_of_rule_name_their_place():
    broken = {"podAffinity": {PREFERRED: [{"weight": 0, "podAffinityTerm": pod_term("e")}]}}
    anti = {"podAntiAffinity": {REQUIRED: [pod_term("")]}}
    _, defects = class_content(make_pod(affinity={**broken, **anti}))
    fields = [each.field for each in defects]
    assert [field.split("[")[0] for field in fields] == [
        f"spec.affinity.podAffinity.{PREFERRED}",
        f"spec.affinity.podAntiAffinity.{REQUIRED}",
    ]

"""What a pod asks of nodes, in words."""

from __future__ import annotations

from typing import Any

from poseidon.ui.cluster.pod_rules import NO_RULES, pod_rules
from poseidon.ui.views.pods import show_pod
from tests.poseidon.ui.objects import known, make_node, make_pod, record, store

REQUIRED, PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
LABELS: dict[str, Any] = {"matchLabels": {"app": "db"}}
RULES: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
                    {
                        "matchExpressions": [
                            {"key": "cores", "operator": "Gt", "values": ["8"]},
                            {"key": "spot", "operator": "DoesNotExist"},
                        ]
                    },
                ]
            },
            PREFERRED: [
                {
                    "weight": 5,
                    "preference": {
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
                    },
                }
            ],
        },
        "podAffinity": {
            PREFERRED: [
                {
                    "weight": 7,
                    "podAffinityTerm": {"labelSelector": {}, "topologyKey": "zone", "namespaces": ["x"]},
                }
            ]
        },
        "podAntiAffinity": {
            REQUIRED: [{"labelSelector": LABELS, "topologyKey": "host", "namespaceSelector": {}}]
        },
    },
    "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": LABELS},
        {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
    ],
    "tolerations": [
        {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"},
        {"key": "gpu", "operator": "Exists"},
        {"operator": "Exists"},
    ],
}


def test_all_rules_of_a_pod():
    found = pod_rules(make_pod("a/p", **RULES).spec)
    assert found.selectors == (
        "node has disk=ssd",
        "node has zone in (a, b) or cores > 8 and no spot",
        "better if node has metadata.name=n1 (weight 5)",
        "better if near all pods in x by zone (weight 7)",
        "apart from pods with app=db in all namespaces by host",
        "spread pods with app=db over zone, skew 2 at most",
        "better if spread no pods over host, skew 1 at most",
    )
    assert found.tolerations == ("dedicated=batch:NoSchedule", "gpu", "every taint")


def test_a_pod_without_rules_and_equal_ones_share_what_is_kept():
    found = store(make_pod("a/p"), make_pod("a/q", **RULES), make_pod("a/r", **RULES))
    assert record(found, "a/p").rules is NO_RULES
    assert record(found, "a/q").rules is record(found, "a/r").rules


def test_what_is_very_long_is_cut():
    found = pod_rules(make_pod("a/p", nodeSelector={f"k{number}": "v" * 5000 for number in range(80)}).spec)
    assert (len(found.selectors), max(map(len, found.selectors))) == (50, 500)


def test_the_page_of_a_pod_has_them():
    found = store(make_node("n1"), make_pod("a/p", cpu="1500m", memory="2Gi", **RULES))
    shown = show_pod(known(found), record(found, "a/p"), None, None)
    assert shown["requests"] == {"cpu": "1500m", "memory": "2Gi"}
    assert (len(shown["selectors"]), len(shown["tolerations"])) == (7, 3)

"""Random pods with labels, and with selectors that look at the labels of others."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod

KEYS = ["app", "hash", "tier"]
VALUES = ["1", "2"]
NAMESPACES = {"a": {"team": "x"}, "b": {}, "c": {"team": "y"}}

_EXPRESSIONS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "key": st.sampled_from(KEYS),
                "operator": st.sampled_from(["In", "NotIn"]),
                "values": st.lists(st.sampled_from(VALUES), min_size=1, max_size=2),
            }
        ),
        st.fixed_dictionaries(
            {"key": st.sampled_from(KEYS), "operator": st.sampled_from(["Exists", "DoesNotExist"])}
        ),
    ),
    max_size=2,
)
_SELECTORS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1),
        "matchExpressions": _EXPRESSIONS,
    },
)
_NAMESPACE_SELECTORS = st.sampled_from(
    [
        {},
        {"matchLabels": {"team": "x"}},
        {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
    ]
)
_TERMS = st.fixed_dictionaries(
    {"topologyKey": st.just("zone"), "labelSelector": _SELECTORS},
    optional={
        "namespaces": st.lists(st.sampled_from(sorted(NAMESPACES)), min_size=1, max_size=2),
        "namespaceSelector": _NAMESPACE_SELECTORS,
    },
)
_SPREAD = st.fixed_dictionaries(
    {
        "maxSkew": st.just(1),
        "topologyKey": st.just("zone"),
        "whenUnsatisfiable": st.just("ScheduleAnyway"),
        "labelSelector": _SELECTORS,
    }
)
SPECS = st.one_of(
    st.just({}),
    st.builds(
        lambda kind, term: {
            "affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        },
        st.sampled_from(["podAffinity", "podAntiAffinity"]),
        _TERMS,
    ),
    st.builds(lambda rule: {"topologySpreadConstraints": [rule]}, _SPREAD),
)
"""The part of a pod's spec that looks at other pods."""

LABELS = st.dictionaries(st.sampled_from([*KEYS, "unique"]), st.sampled_from(VALUES), max_size=3)


def make(name: str, spec: Any, labels: Any, namespace: str, *, node: str = "", deleting: bool = False) -> Pod:
    """Return a pod of the scheduler under test."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": name,
        "labels": labels,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
    }
    whole = {"containers": [{"name": "c"}], "schedulerName": "poseidon", "nodeName": node, **spec}
    return convert_object({"metadata": metadata, "spec": whole}, Pod)

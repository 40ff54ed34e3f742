"""Adds the rules by which JobSet and LeaderWorkerSet give each group of pods a domain of its own."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Any, TypeAlias

from poseidon.manifests.workloads.common.fields import Value, items, mapping

Expressions: TypeAlias = Sequence[dict[str, Any]]


def group_key(namespace: str, name: str) -> str:
    """Return the label value that both projects derive from a group's name."""
    return sha1(f"{namespace}/{name}".encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def give_own_domain(
    template: Value, topology: str, label: str, key: str, *, all_namespaces: bool = False
) -> Value:
    """Return a template whose pods share a domain of ``topology`` with each other, and with no pods of other groups.

    Other groups are those of the pod's own namespace, as for a LeaderWorkerSet, or with ``all_namespaces`` those of
    the cluster, as for a JobSet.
    The projects' controllers give the followers the node selector of the leader's domain once that is known. Here all
    pods get the same affinity, so that the group is placed at once, with the same result.
    """
    if not topology:
        return template
    together = {"key": label, "operator": "In", "values": [key]}
    others: list[dict[str, Any]] = [
        {"key": label, "operator": "Exists"},
        {"key": label, "operator": "NotIn", "values": [key]},
    ]
    return add_affinities(template, topology, [[together]], [others], all_namespaces=all_namespaces)


def add_affinities(
    template: Value,
    topology: str,
    together: Sequence[Expressions],
    apart: Sequence[Expressions],
    *,
    all_namespaces: bool = False,
) -> Value:
    """Return a template whose pods must share a domain of ``topology`` with some pods, and with none of others.

    ``together``, ``apart``: the conditions on labels of each term. Pods are those of the pod's own namespace, or with
    ``all_namespaces`` those of the cluster.
    """
    spec = mapping(template, "spec")
    affinity = dict(mapping(spec, "affinity"))
    where: dict[str, Any] = {"topologyKey": topology}
    if all_namespaces:
        where["namespaceSelector"] = {}
    affinity["podAffinity"] = _add_terms(mapping(affinity, "podAffinity"), where, together)
    affinity["podAntiAffinity"] = _add_terms(mapping(affinity, "podAntiAffinity"), where, apart)
    return {**template, "spec": {**spec, "affinity": affinity}}


def _add_terms(rules: Value, where: Value, terms: Sequence[Expressions]) -> dict[str, Any]:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    added = [{"labelSelector": {"matchExpressions": [*each]}, **where} for each in terms]
    return {**rules, field: [*items(rules, field), *added]}

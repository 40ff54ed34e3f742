"""Adds affinity rules with which JobSet and LeaderWorkerSet give each group of pods a topology domain of its own."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Any, TypeAlias

from poseidon.manifests.workloads.common.fields import Value, items, mapping

Expressions: TypeAlias = Sequence[dict[str, Any]]


def group_key(namespace: str, name: str) -> str:
    """Return the label value that JobSet and LeaderWorkerSet derive from a group's name."""
    return sha1(f"{namespace}/{name}".encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def give_own_domain(
    template: Value, topology: str, label: str, key: str, *, all_namespaces: bool = False
) -> Value:
    """Return a template whose pods share a domain of ``topology`` with each other, and with no pod of another group.

    Other groups are those in the pod's namespace, as for a LeaderWorkerSet; with ``all_namespaces``, those of the
    whole cluster, as for a JobSet. The projects' controllers wait until the leader has a node, and then give the
    followers the node selector of its domain. In an input, all pods get the same affinity instead of a node selector,
    so the group is placed at once, with the same result.
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

    ``together`` and ``apart`` have the conditions on labels of each affinity term. The terms select pods of the pod's
    own namespace; with ``all_namespaces``, pods of the whole cluster.
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

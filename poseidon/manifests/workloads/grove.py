"""Reads Grove's PodCliqueSet (grove.io): its PodGangs, which are trees of groups placed together, and their pods.

As in Grove's operator, each replica is a gang of all cliques; the gang has as many replicas of a scaling group as
`minAvailable` states. Each further replica of a scaling group is a gang by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.warning_phrases import suggest_printing
from poseidon.manifests.workloads.common.fields import (
    NotKnownError,
    Value,
    find,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodGroupObject, PodSet, number_names

_TOPOLOGIES = ("ClusterTopology", "ClusterTopologyBinding")
"""Kinds of objects that define which node label stands for which domain."""


@dataclass(slots=True)
class _Gang:
    """A PodGang while it is being built.

    ``topology`` is the constraint of the whole gang; ``configs`` are the groups in it that have constraints.
    """

    name: str
    topology: Value
    cliques: list[tuple[str, Value]] = field(default_factory=list)
    configs: list[dict[str, Any]] = field(default_factory=list)


def read_pod_clique_set(value: Value, known: Known) -> Iterator[PodSet | PodGroupObject]:
    """Yield the PodGangs of a PodCliqueSet, and the pods of each clique in them."""
    name, namespace = name_of(value), namespace_of(value)
    template = mapping(value, "spec", "template")
    cliques = {text(each, "name"): each for each in items(template, "cliques")}
    levels, known_gangs = _Levels(known), _find_gangs(known, namespace, name)
    for replica in range(number(value, "spec", "replicas", default=0)):
        for gang in _list_gangs(f"{name}-{replica}", template, cliques, levels):
            there = next((known_gangs[each] for each, _ in gang.cliques if each in known_gangs), "")
            if not there:
                yield PodGroupObject(_make_pod_gang(gang, namespace, template, levels))
            for clique_name, clique in gang.cliques:
                yield _make_pods(name, there or gang.name, clique_name, clique)


def _find_gangs(known: Known, namespace: str, name: str) -> dict[str, str]:
    """Return the name of the existing PodGang of each clique; some versions of the operator put a hash in the name."""
    return {
        text(each, "name"): name_of(gang.value)
        for gang in known.list_owned(namespace, ("PodCliqueSet", name))
        if gang.kind == "PodGang"
        for each in items(gang.value, "spec", "podgroups")
    }


def _list_gangs(base: str, template: Value, cliques: dict[str, Value], levels: _Levels) -> Iterator[_Gang]:
    """Yield the gang of a replica, and one gang for each further replica of its scaling groups."""
    scaled = items(template, "podCliqueScalingGroups")
    in_groups = {each for group in scaled for each in _list_names(group)}
    first = _Gang(base, mapping(template, "topologyConstraint"))
    first.cliques += [(f"{base}-{each}", clique) for each, clique in cliques.items() if each not in in_groups]
    further = []
    for group in scaled:
        whole = f"{base}-{text(group, 'name')}"
        least = number(group, "minAvailable", default=1)
        for index in range(number(group, "replicas", default=1)):
            gang = first
            if index >= least:
                gang = _Gang(f"{whole}-{index - least}", {})
                further.append(gang)
            inside = [(f"{whole}-{index}-{each}", _get_clique(cliques, each)) for each in _list_names(group)]
            gang.cliques += inside
            gang.configs.append(
                {
                    "name": f"{whole}-{index}",
                    "podGroupNames": [each for each, _ in inside],
                    "topologyConstraint": levels.make_constraint(mapping(group, "topologyConstraint")),
                }
            )
    if first.cliques:
        yield first
    yield from further


def _list_names(group: Value) -> Sequence[str]:
    found = find(group, "cliqueNames") or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise MalformedObjectError(
            "spec.template.podCliqueScalingGroups.cliqueNames", "expected a list of strings"
        )
    return found


def _get_clique(cliques: dict[str, Value], name: str) -> Value:
    if name not in cliques:
        raise MalformedObjectError(
            "spec.template.podCliqueScalingGroups.cliqueNames", f"there is no clique {name!r}"
        )
    return cliques[name]


def _make_pod_gang(gang: _Gang, namespace: str, template: Value, levels: _Levels) -> dict[str, Any]:
    groups = [
        {
            "name": name,
            "minReplicas": _count_least(clique),
            "topologyConstraint": levels.make_constraint(mapping(clique, "topologyConstraint")),
        }
        for name, clique in gang.cliques
    ]
    spec: dict[str, Any] = {
        "podgroups": groups,
        "topologyConstraint": levels.make_constraint(gang.topology),
        "topologyConstraintGroupConfigs": gang.configs,
        "priorityClassName": text(template, "priorityClassName"),
    }
    return {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {"name": gang.name, "namespace": namespace},
        "spec": spec,
    }


def _count_least(clique: Value) -> int:
    """Return how many pods of a clique must be placed together: all, unless the clique states a number."""
    pods = number(clique, "spec", "replicas", default=1)
    return min(number(clique, "spec", "minAvailable", default=pods), pods)


def _make_pods(owner: str, gang: str, name: str, clique: Value) -> PodSet:
    return PodSet(
        names=number_names(name, number(clique, "spec", "replicas", default=1)),
        template={
            "metadata": {"labels": mapping(clique, "labels"), "annotations": mapping(clique, "annotations")},
            "spec": mapping(clique, "spec", "podSpec"),
        },
        owner=("PodCliqueSet", owner),
        marks={"app.kubernetes.io/part-of": owner, "grove.io/podclique": name},
        labels={"grove.io/podgang": gang},
        index_label="grove.io/podclique-pod-index",
    )


class _Levels:
    """The node label of each topology domain, as the ClusterTopology in the input defines it."""

    def __init__(self, known: Known) -> None:
        found = next((each for kind in _TOPOLOGIES for each in known.list_kind(kind)), None)
        self._key_of = {text(each, "domain"): text(each, "key") for each in items(found, "spec", "levels")}

    def make_constraint(self, stated: Value) -> dict[str, Any] | None:
        """Return a PodGang's constraint for the constraint of a PodCliqueSet, or None if the input has no topology."""
        domain = text(stated, "packDomain")
        if domain and domain not in self._key_of:
            remedy = suggest_printing("clustertopologies", namespaced=False)
            raise NotKnownError(
                f"topologyConstraint.packDomain: no ClusterTopology in the input has the domain {domain}; {remedy}"
            )
        return {"packConstraint": {"required": self._key_of[domain]}} if domain else None

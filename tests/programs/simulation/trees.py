"""Trees of groups of Kubernetes: their objects, drawn at random, and what of a tree is whole, by the objects alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

from tests.programs.simulation import workload
from tests.programs.simulation.api_server import COMPOSITES, LEAVES, ApiServer, Object

RULES = "sakkara.group.constraints"
SIZE = "example.com/objects"
"""Label of its objects: how many there are."""


class Drawn(NamedTuple):
    """A tree: its objects with their collections, and how many pods each of its PodGroups is to have."""

    name: str
    objects: list[tuple[str, Object]]
    pods: dict[str, int]


def draw_tree(random: Random, name: str) -> Drawn:
    """Return a tree of two or three levels; groups may need fewer than there are, one zone, and leave as a whole."""
    shape: list[tuple[str, str, int]] = []  # name, parent, pods (0: a group of groups)
    for index in range(random.randint(2, 3)):
        group = f"{name}-{index}"
        if random.random() < 0.3:
            shape.append((group, name, 0))
            shape += [(f"{group}-{place}", group, random.randint(1, 3)) for place in range(2)]
        else:
            shape.append((group, name, random.randint(1, 3)))
    shape.insert(0, (name, "", 0))
    inside = Counter(parent for _, parent, _ in shape)
    labels = {workload.TREE: name, SIZE: str(len(shape))}
    objects = []
    as_a_whole: set[str] = set()
    zoned: set[str] = set()
    for group, parent, pods in shape:
        there = pods or inside[group]
        if parent in as_a_whole or random.random() < 0.2:
            as_a_whole.add(group)
        least = there - (there > 1 and random.random() < (0.7 if group in as_a_whole else 0.4))
        policy = {"minCount": least} if pods else {"minGroupCount": least}
        spec: Object = {"schedulingPolicy": {"gang": policy}}
        if parent:
            spec["parentCompositePodGroupName"] = parent
        if random.random() < (0.5 if pods else 0.15):
            spec["schedulingConstraints"] = {"topology": [{"key": workload.ZONE}]}
        if group in as_a_whole:
            spec["disruptionMode"] = {"all": {}}
        metadata: Object = {"name": group, "namespace": workload.NAMESPACE, "labels": labels}
        if parent in zoned or "schedulingConstraints" in spec:
            zoned.add(group)
        most = draw_most(Random(f"{shape} {group}"), pods) if pods and group not in zoned else 0
        if most:
            rule = {workload.ZONE: {"type": "spread", "min": 1, "max": most}}
            metadata["annotations"] = {RULES: json.dumps(rule)}
        objects.append((LEAVES if pods else COMPOSITES, {"metadata": metadata, "spec": spec, "status": {}}))
    random.shuffle(objects)
    return Drawn(name, objects, {group: pods for group, _, pods in shape if pods})


def draw_most(random: Random, pods: int) -> int:
    """Return how many pods of a PodGroup may share a zone, 0 for any number; together, the zones may have all ``pods``.

    Drawn apart from what else is drawn.
    """
    return -(-pods // len(workload.ZONES)) if random.random() < 0.6 else 0


def find_most(api: ApiServer, pod: Object) -> int:
    """Return how many pods of a pod's PodGroup may share a zone, 0 for any number."""
    tree = pod["metadata"]["labels"].get(workload.TREE, "")
    group = _list_groups(api, tree).get(leaf_of(pod)) if tree and has_all_groups(api, tree) else None
    rules = (group or {}).get("metadata", {}).get("annotations", {}).get(RULES)
    return int(json.loads(rules)[workload.ZONE]["max"]) if rules else 0


def leaf_of(pod: Object) -> str:
    """Return the PodGroup that a pod names, "" for none."""
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))


def _list_groups(api: ApiServer, tree: str) -> dict[str, Object]:
    """Return the objects of a tree that there are, by name."""
    found = [*api.all(COMPOSITES), *api.all(LEAVES)]
    return {
        each["metadata"]["name"]: each
        for each in found
        if each["metadata"]["labels"].get(workload.TREE) == tree
    }


def has_all_groups(api: ApiServer, tree: str) -> bool:
    """Return whether all objects of a tree, or of the one that a group is in, are there."""
    groups = _list_groups(api, tree.partition("-")[0])
    return any(len(groups) == int(each["metadata"]["labels"][SIZE]) for each in groups.values())


def find_parent(group: Object) -> str:
    """Return the name of the group that a group is in, "" for a root."""
    return str(group["spec"].get("parentCompositePodGroupName", ""))


def count_lacking(api: ApiServer, name: str, counted: Iterable[Object], done: Mapping[str, int]) -> int:
    """Return the fewest pods that a tree, or a group in one, lacks beside those that are counted.

    ``done``: by PodGroup, those that have succeeded. 0 while objects of the tree are missing.
    """
    tree = name.partition("-")[0]
    groups = _list_groups(api, tree)
    have = Counter(map(leaf_of, counted))

    def lacks(name: str) -> int:
        gang = groups[name]["spec"]["schedulingPolicy"]["gang"]
        if "minCount" in gang:
            return max(0, int(gang["minCount"]) - done.get(name, 0) - have[name])
        inside = [each for each, group in groups.items() if find_parent(group) == name]
        return sum(sorted(map(lacks, inside))[: int(gang["minGroupCount"])])

    return lacks(name) if has_all_groups(api, tree) else 0


def list_disrupted_together(api: ApiServer, pod: Object) -> set[str]:
    """Return the PodGroups whose pods are evicted with a pod because ``disruptionMode`` says so, none otherwise."""
    tree = pod["metadata"]["labels"].get(workload.TREE, "")
    if not tree or not has_all_groups(api, tree):
        return set()
    groups, name, outermost = _list_groups(api, tree), leaf_of(pod), ""
    while name:
        if "disruptionMode" in groups[name]["spec"]:
            outermost = name
        name = find_parent(groups[name])
    return _list_below(groups, outermost) if outermost else set()


def _list_below(groups: Mapping[str, Object], name: str) -> set[str]:
    """Return the names of a group and of all groups below it."""
    below = {name}
    for _ in groups:
        below |= {each for each, group in groups.items() if find_parent(group) in below}
    return below


def list_zoned(api: ApiServer, pod: Object) -> list[set[str]]:
    """Return for each group of a pod that keeps to one zone the PodGroups below it, if all groups are there."""
    tree = pod["metadata"]["labels"].get(workload.TREE, "")
    if not tree or not has_all_groups(api, tree):
        return []
    groups, found = _list_groups(api, tree), []
    name = leaf_of(pod)
    while name:
        if "schedulingConstraints" in groups[name]["spec"]:
            found.append(_list_below(groups, name))
        name = find_parent(groups[name])
    return found

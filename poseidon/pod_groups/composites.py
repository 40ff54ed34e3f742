"""Keeps Kubernetes' trees of groups: CompositePodGroups that contain PodGroups or further CompositePodGroups.

Each object names its parent, and objects come in any order. A tree waits until its root, and each group between the
root and its PodGroups, exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from poseidon.group_trees.spec.constraints import SPREAD, LevelRule
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.api.pod_groups import CompositePodGroup, NativePodGroup
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.pod_groups.group_names import COMPOSITE_POD_GROUP, NATIVE_POD_GROUP, ObjectKey
from poseidon.pod_groups.level_rules import GroupLevels, read_group_levels
from protos.firmament.v1 import scheduler_pb2 as pb

MOST_LEVELS = 4
"""Most levels of a tree, including its PodGroups, as in Kubernetes."""

FARTHEST_ROOT = 4 * MOST_LEVELS
"""Most levels above a group that are searched for the root of its tree."""

MAX_COUNT = 2**31 - 1
"""The largest number that the objects' fields can contain."""

NativeGroup: TypeAlias = NativePodGroup | CompositePodGroup


@dataclass(frozen=True, slots=True)
class GroupNode:
    """A group in a tree, in the terms of the protocol's ``JobGroup``."""

    name: str
    """The group's name, unique in the tree."""
    parent: str = ""
    """Name of the parent group, "" for a root."""
    least: int = 0
    """The number of the group's pods, or child groups, that must be placed together; 0: each is placed separately."""
    within: tuple[str, ...] = ()
    """Keys of node labels: for each, all pods of the group must be on nodes with equal values."""
    rather_within: tuple[str, ...] = ()
    """Keys of node labels: for each, the pods should be on nodes with equal values, if possible."""
    apart: bool = False
    """Whether two child groups must not have the same value of their ``within`` labels."""
    disrupted_whole: bool = False
    """Whether evicting one of the group's pods evicts all of them."""
    expected: int = 0
    """How many pods, or child groups, the group will have, 0 if unknown."""
    expected_alike: bool = False
    """Whether pods that do not exist yet request the same as existing ones.

    For a group of groups: whether all expected child groups begin together.
    """
    divided: tuple[tuple[str, LevelRule], ...] = ()
    """Keys of node labels, each with the rule that divides the group's pods, or child groups, over the label's values.

    The second rule divides those that share a value of the first label, and so on.
    """

    def to_proto(self) -> pb.JobGroup:
        """Return the group as a message of the protocol."""
        return pb.JobGroup(
            name=self.name,
            parent=self.parent,
            least=self.least,
            within=self.within,
            rather_within=self.rather_within,
            apart=self.apart,
            disrupted_whole=self.disrupted_whole,
            expected=self.expected,
            expected_alike=self.expected_alike,
            divided=[
                pb.LevelRule(
                    label=label,
                    spread=rule.kind == SPREAD,
                    hard=rule.hard,
                    partitions=rule.partitions,
                    least=rule.least,
                    most=rule.most,
                    factor=rule.factor if rule.factor > 1 else 0,
                )
                for label, rule in self.divided
            ],
        )


class CompositeTrees:
    """The known groups of Kubernetes, and the child groups of each."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, NativeGroup] = {}
        self._inside: dict[ObjectKey, dict[ObjectKey, None]] = {}

    def holds(self, key: ObjectKey, found: NativeGroup) -> bool:
        """Return whether a group is known and has this spec and these rules by level."""
        known = self._known.get(key)
        return known is not None and known.spec == found.spec and _get_rules(known) == _get_rules(found)

    def put(self, key: ObjectKey, found: NativeGroup) -> None:
        """Add or update a group."""
        self.remove(key)
        self._known[key] = found
        parent = _name_parent(key, found)
        if parent is not None:
            self._inside.setdefault(parent, {})[key] = None

    def remove(self, key: ObjectKey) -> None:
        """Remove a group; an unknown group is ignored."""
        found = self._known.pop(key, None)
        parent = _name_parent(key, found) if found is not None else None
        if parent is not None:
            inside = self._inside[parent]
            inside.pop(key, None)
            if not inside:
                del self._inside[parent]

    def find_root(self, key: ObjectKey) -> ObjectKey:
        """Return the root of a group's tree, which may not exist yet; a group without parent is its own root.

        If groups form a circle, the root is the first by name. If the tree is far too deep, a group below the root is
        returned: the tree is refused anyway, and following thousands of parents for each group would take too long.
        """
        path = [key]
        while len(path) <= FARTHEST_ROOT:
            found = self._known.get(path[-1])
            parent = _name_parent(path[-1], found) if found is not None else None
            if parent is None:
                return path[-1]
            if parent in path:
                return min(path[path.index(parent) :])
            path.append(parent)
        return path[-1]

    def list_leaves(self, key: ObjectKey) -> list[ObjectKey]:
        """Return the PodGroups below a group; for a PodGroup, the group itself."""
        return [each for each in self.walk(key) if each.kind == NATIVE_POD_GROUP]

    def walk(self, key: ObjectKey) -> Iterator[ObjectKey]:
        """Yield a group and the groups below it, parents first, each once.

        Walking ends some levels below ``MOST_LEVELS``, because a deeper tree is refused anyway.
        """
        seen, level = {key}, [key]
        for _ in range(FARTHEST_ROOT + 2):
            below = []
            for each in level:
                yield each
                for child in sorted(self._inside.get(each, ())):
                    if child not in seen:
                        seen.add(child)
                        below.append(child)
            level = below

    def list_nodes(self, root: ObjectKey) -> tuple[tuple[GroupNode, ...], str]:
        """Return the groups of a tree, parents first, and what is wrong with the tree ("" for nothing)."""
        problem = self._find_fault(root)
        if problem:
            return (), problem
        keys = [key for key in self.walk(root) if key in self._known]
        leaves = {key.name for key in keys if key.kind == NATIVE_POD_GROUP}

        def name(key: ObjectKey) -> str:
            clashes = key.kind == COMPOSITE_POD_GROUP and key.name in leaves
            return f"{COMPOSITE_POD_GROUP} {key.name}" if clashes else key.name

        nodes: list[GroupNode] = []
        levels = {key: _read_levels(key, self._known[key])[0] for key in keys}
        for key in keys:
            found = self._known[key]
            parent = _name_parent(key, found) if key != root else None
            stated = (each.key for each in found.spec.scheduling_constraints.topology)
            node = GroupNode(
                name=name(key),
                parent=name(parent) if parent is not None else "",
                least=read_least(found),
                within=tuple(dict.fromkeys((*stated, *levels[key].within))),
                rather_within=levels[key].rather_within,
                apart=bool(levels[key].apart),
                disrupted_whole=is_disrupted_whole(found.spec.disruption_mode),
                divided=levels[key].divided,
            )
            nodes += _separate(node, levels[parent].apart) if parent is not None else [node]
        return tuple(nodes), ""

    def _find_fault(self, root: ObjectKey) -> str:
        """Return why kube-scheduler would refuse a tree, "" if it would not."""
        depth: dict[ObjectKey, int] = {}
        workloads: dict[str, None] = {}
        for key in self.walk(root):
            found = self._known.get(key)
            if found is None:
                continue
            parent = _name_parent(key, found)
            if key == root and parent is not None and self.find_root(root) != root:
                return f"{key.kind} {key.name} is in too many groups; a tree has at most {MOST_LEVELS} levels"
            if key == root and parent is not None:
                return f"spec.parentCompositePodGroupName: {parent.name} is in {key.name} itself; remove the circle"
            depth[key] = depth[parent] + 1 if parent is not None else 1
            if depth[key] > MOST_LEVELS:
                return f"{key.kind} {key.name} is on level {depth[key]}; a tree has at most {MOST_LEVELS}"
            fault = self._find_own_fault(key, found, self._known.get(parent) if parent is not None else None)
            if fault:
                return f"{key.kind.split()[0]} {key.name}: {fault}"
            if found.spec.workload_ref is not None and found.spec.workload_ref.workload_name:
                workloads[found.spec.workload_ref.workload_name] = None
        if len(workloads) > 1:
            return f"spec.workloadRef: names {len(workloads)} Workloads ({', '.join(workloads)}); one tree is of one"
        return ""

    def _find_own_fault(self, key: ObjectKey, found: NativeGroup, parent: NativeGroup | None) -> str:
        least, gang = read_least(found), found.spec.scheduling_policy.gang
        if gang is not None and not 1 <= least <= MAX_COUNT:
            field = "minCount" if key.kind == NATIVE_POD_GROUP else "minGroupCount"
            return f"spec.schedulingPolicy.gang.{field}: {least} is out of range; give at least 1"
        stated = enumerate(found.spec.scheduling_constraints.topology)
        faults = (
            f"spec.schedulingConstraints.topology[{index}].key: {fault}"
            for index, each in stated
            if (fault := key_fault(each.key))
        )
        problem = next(faults, "") or _read_levels(key, found)[1]
        if problem or parent is None:
            return problem
        if parent.spec.scheduling_policy.gang is not None and gang is None:
            return "spec.schedulingPolicy: is basic in a group that is a gang; give gang"
        if is_disrupted_whole(parent.spec.disruption_mode) and not is_disrupted_whole(
            found.spec.disruption_mode
        ):
            return "spec.disruptionMode: is Single in a group whose mode is All; give all"
        return ""


def _name_parent(key: ObjectKey, found: NativeGroup) -> ObjectKey | None:
    parent = found.spec.parent_composite_pod_group_name
    return ObjectKey(COMPOSITE_POD_GROUP, key.namespace, parent) if parent else None


def _get_rules(found: NativeGroup) -> str:
    """Return the text of a group's rules by topology level, "" for none."""
    return found.metadata.annotations.get(CONSTRAINTS_ANNOTATION, "")


def _read_levels(key: ObjectKey, found: NativeGroup) -> tuple[GroupLevels, str]:
    """Return a group's rules by topology level, and what is wrong with them ("" for nothing)."""
    return read_group_levels(found.metadata.annotations, of_groups=key.kind == COMPOSITE_POD_GROUP)


def _separate(node: GroupNode, keys: tuple[str, ...]) -> list[GroupNode]:
    """Return a group changed so that no other group of its parent shares its values of the labels ``keys``.

    If the group has further labels, whose values other groups may share, a new parent group with only ``keys`` is
    added.
    """
    if not keys:
        return [node]
    if {*node.within} <= {*keys}:
        return [replace(node, within=keys)]
    own = GroupNode(f"place of {node.name}", node.parent, least=1, within=keys)
    return [own, replace(node, parent=own.name)]


def read_least(found: NativeGroup) -> int:
    """Return how many pods, or child groups, are placed together; 0 for a group that is no gang."""
    if isinstance(found, CompositePodGroup):
        gang = found.spec.scheduling_policy.gang
        return gang.min_group_count if gang is not None else 0
    policy = found.spec.scheduling_policy.gang
    return policy.min_count if policy is not None else 0


_ALL = ("PodGroup", "All", "all")
"""Values of ``spec.disruptionMode`` for groups that are disrupted as a whole: a string or an object's key."""


def is_disrupted_whole(mode: object) -> bool:
    """Return whether a ``spec.disruptionMode`` means "as a whole": a string or, since v1alpha3, ``all: {}``."""
    return (
        mode in _ALL if isinstance(mode, str) else isinstance(mode, dict) and not mode.keys().isdisjoint(_ALL)
    )


def find_disrupted_whole(nodes: Sequence[GroupNode], name: str) -> str:
    """Return the outermost group that contains group ``name``, or is it, and is disrupted as a whole; "" for none."""
    known = {node.name: node for node in nodes}
    found = ""
    while name in known:
        if known[name].disrupted_whole:
            found = name
        name = known[name].parent
    return found


def count_fewest(nodes: Sequence[GroupNode]) -> int:
    """Return the smallest number of pods with which a tree has its minimum: the minimum in each needed group."""
    inside: dict[str, list[int]] = {}
    for node in reversed(nodes):
        below = inside.get(node.name)
        needed = node.least if below is None else sum(sorted(below)[: node.least])
        inside.setdefault(node.parent, []).append(needed)
    return sum(inside.get("", ()))


def take_off(nodes: Sequence[GroupNode], done: Mapping[str, int]) -> tuple[GroupNode, ...]:
    """Return a tree whose groups need fewer pods; ``done`` has the number of succeeded pods by group.

    In a group with succeeded pods, rules that demand multiples of a number are dropped, because the remaining pods need
    not be such a multiple.
    """
    return tuple(
        replace(
            node,
            least=max(0, node.least - done[node.name]),
            divided=tuple((label, rule) for label, rule in node.divided if rule.factor == 1),
        )
        if done.get(node.name)
        else node
        for node in nodes
    )

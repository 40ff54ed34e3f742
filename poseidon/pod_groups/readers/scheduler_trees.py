"""Reads trees of groups of other projects: KAI's PodGroups with their subgroups, and Grove's PodGangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from poseidon.kube.api.other_projects.scheduler_groups import (
    GangTopologyConstraint,
    KaiPodGroup,
    KaiSubGroup,
    KaiTopologyConstraint,
    PodGang,
)
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.pod_groups.composites import MAX_COUNT, GroupNode, count_fewest
from poseidon.pod_groups.demands import Demand

SUBGROUPS = "spec.subGroups"


def read_kai_group_demand(found: KaiPodGroup) -> Demand:
    """Return the demand of a KAI PodGroup: all or a minimum of its subgroups, each with its minimum of pods."""
    spec = found.spec
    problem = _find_count_fault("spec.minMember", spec.min_member) or _find_fault(spec.sub_groups)
    problem = problem or _find_optional_count_fault("spec.minSubGroup", spec.min_sub_group)
    if problem:
        return Demand(problem=problem)
    inside = Counter(each.parent or "" for each in spec.sub_groups)
    root = _name_root(found.metadata.name, [each.name for each in spec.sub_groups])
    least = _count_least(spec.min_sub_group, inside[""]) if spec.sub_groups else spec.min_member
    nodes = [_make_node(root, "", least, _read_kai(spec.topology_constraint))]
    nodes += [
        _make_node(
            each.name,
            each.parent or root,
            _count_least(each.min_sub_group, inside[each.name])
            if inside[each.name]
            else max(each.min_member, 1),
            _read_kai(each.topology_constraint),
        )
        for each in _list_parents_first(spec.sub_groups)
    ]
    return _demand(nodes, spec.priority_class_name)


def read_pod_gang_demand(found: PodGang) -> Demand:
    """Return the demand of a Grove PodGang: all its groups are placed together, each with its minimum of pods."""
    spec = found.spec
    names = [each.name for each in spec.podgroups]
    problem = _find_repeated("spec.podgroups", names)
    config_of: dict[str, int] = {}
    for index, config in enumerate(spec.topology_constraint_group_configs):
        for name in config.pod_group_names:
            path = f"spec.topologyConstraintGroupConfigs[{index}].podGroupNames"
            if name not in names:
                problem = problem or f"{path}: there is no group {name!r}"
            elif config_of.setdefault(name, index) != index:
                problem = problem or f"{path}: group {name!r} is in another one, too"
    for index, each in enumerate(spec.podgroups):
        problem = problem or _find_count_fault(f"spec.podgroups[{index}].minReplicas", each.min_replicas)
    if problem:
        return Demand(problem=problem)
    used = sorted({*config_of.values()})
    root = _name_root(found.metadata.name, names)
    nodes = [
        _make_node(root, "", len(names) - len(config_of) + len(used), _read_grove(spec.topology_constraint))
    ]
    name_of = {index: f"groups {index} of {root}" for index in used}
    for index in used:
        config = spec.topology_constraint_group_configs[index]
        count = sum(of == index for of in config_of.values())
        nodes.append(_make_node(name_of[index], root, count, _read_grove(config.topology_constraint)))
    for each in spec.podgroups:
        parent = name_of[config_of[each.name]] if each.name in config_of else root
        nodes.append(_make_node(each.name, parent, each.min_replicas, _read_grove(each.topology_constraint)))
    return _demand(nodes, spec.priority_class_name)


def _demand(nodes: Sequence[GroupNode], priority_class: str) -> Demand:
    faults = (
        f"topology level {key!r} of {node.name}: {fault}"
        for node in nodes
        for key in (*node.within, *node.rather_within)
        if (fault := key_fault(key))
    )
    problem = next(faults, "")
    if problem:
        return Demand(problem=problem)
    return Demand(count_fewest(nodes), nodes=tuple(nodes), priority_class=priority_class)


def _make_node(name: str, parent: str, least: int, levels: tuple[str, str]) -> GroupNode:
    required, preferred = levels
    return GroupNode(
        name,
        parent,
        least,
        within=(required,) if required else (),
        rather_within=(preferred,) if preferred and preferred != required else (),
    )


def _read_kai(constraint: KaiTopologyConstraint | None) -> tuple[str, str]:
    """Return the node label of which pods must share a value, and the label of which they should share one.

    "" for none.
    """
    if constraint is None:
        return "", ""
    return constraint.required_topology_level, constraint.preferred_topology_level


def _read_grove(constraint: GangTopologyConstraint | None) -> tuple[str, str]:
    pack = constraint.pack_constraint if constraint is not None else None
    return ("", "") if pack is None else (pack.required or "", pack.preferred or "")


def _name_root(name: str, taken: Sequence[str]) -> str:
    """Return a name for a tree's root that no group of the tree has."""
    while name in taken:
        name = f"all of {name}"
    return name


def _count_least(stated: int | None, inside: int) -> int:
    """Return how many child groups must be placed together: the stated number, else all."""
    return inside if stated is None else stated


def _find_optional_count_fault(field: str, count: int | None) -> str:
    return "" if count is None else _find_count_fault(field, count)


def _find_count_fault(field: str, count: int) -> str:
    return "" if 0 <= count <= MAX_COUNT else f"{field}: {count} is out of range; give 0 or more"


def _find_repeated(field: str, names: Sequence[str]) -> str:
    """Return what is wrong with the first name that is empty or repeated, "" for nothing."""
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            return f"{field}[{index}].name: {name!r} is {'there twice' if name else 'empty'}"
    return ""


def _find_fault(groups: Sequence[KaiSubGroup]) -> str:
    """Return what is wrong with subgroups, "" for nothing."""
    names = {each.name for each in groups}
    problem = _find_repeated(SUBGROUPS, [each.name for each in groups])
    for index, each in enumerate(groups):
        problem = problem or _find_count_fault(f"{SUBGROUPS}[{index}].minMember", each.min_member)
        problem = problem or _find_optional_count_fault(
            f"{SUBGROUPS}[{index}].minSubGroup", each.min_sub_group
        )
        if each.parent and each.parent not in names:
            problem = problem or f"{SUBGROUPS}[{index}].parent: there is no group {each.parent!r}"
    if not problem and len([*_list_parents_first(groups)]) < len(groups):
        problem = f"{SUBGROUPS}: some groups are in each other; remove the circle"
    return problem


def _list_parents_first(groups: Sequence[KaiSubGroup]) -> Iterator[KaiSubGroup]:
    """Yield subgroups, parents before children; leave out subgroups that contain each other, and those below them."""
    inside: dict[str, list[KaiSubGroup]] = {}
    for each in groups:
        inside.setdefault(each.parent or "", []).append(each)
    todo = [*inside.get("", ())]
    for each in todo:
        yield each
        todo += inside.get(each.name, ())

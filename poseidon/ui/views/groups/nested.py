"""Shows trees of groups: how many of its members each group has, and in which domains they run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poseidon.kube.api.pod_groups import VolcanoPodGroup
from poseidon.pod_groups.composites import GroupNode, take_off
from poseidon.pod_groups.demands import Demand, name_group_in_tree
from poseidon.pod_groups.group_names import COMPOSITE_POD_GROUP
from poseidon.pod_groups.readers.volcano import find_part
from poseidon.ui.cluster.records import BOUND
from poseidon.ui.views.groups.gangs import WAITING, WHOLE, find_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from poseidon.pod_groups.group_names import MemberPart, Membership
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known
    from poseidon.ui.views.groups.gangs import Members

MOST_TREES = 200
MOST_GROUPS = 2000
"""The most groups in one answer, for all trees together and for one tree."""
MOST_DOMAINS = 10
"""The most values of a label that an answer names."""


@dataclass(slots=True)
class _Tally:
    """The pods in a group and in the groups below it, and the groups directly below it."""

    node: GroupNode
    children: list[str] = field(default_factory=list)
    by_node: Counter[str] = field(default_factory=Counter)
    pending: int = 0

    @property
    def bound(self) -> int:
        return self.by_node.total()


def list_trees(known: Known, members: Members) -> list[dict[str, Any]]:
    """Return the trees of groups, waiting trees first.

    If too many groups would be returned, the last trees come without their groups.
    """
    found = [
        (member, pods, demand)
        for member, pods in members.items()
        if (demand := find_tree(known, member, pods))
    ]
    rows = [_tree(known, *each) for each in found]
    rows.sort(key=lambda each: (each["status"] == WHOLE, each["name"], each["kind"]))
    left = MOST_GROUPS
    for each in rows[:MOST_TREES]:
        each["groups"] = each["groups"][:left]
        left -= len(each["groups"])
    return rows[:MOST_TREES]


def find_tree(known: Known, member: Membership, pods: Sequence[PodEntry]) -> Demand | None:
    """Return what a tree of groups requires, or None for other groups.

    A Job of a JobSet that has its own domain is a tree of one group, although the dashboard does not read its object.
    """
    if member.domain:
        return Demand(nodes=(GroupNode(member.source.name, within=(member.domain,)),))
    demand = known.groups.sources.demand(member, {read_part(known, member, each) for each in pods})
    return demand if demand is not None and demand.nodes else None


def read_part(known: Known, member: Membership, pod: PodEntry) -> MemberPart:
    """Return to which part of its group (role or sub-group) a pod belongs, according to the group's object."""
    if member.source.kind == COMPOSITE_POD_GROUP and pod.group is not None:
        return pod.part._replace(role=pod.group.source.name)
    described = known.groups.sources.find(member) if pod.words is not None else None
    if described is not None and isinstance(described[1], VolcanoPodGroup) and pod.words is not None:
        return find_part(described[1], pod.words)
    return pod.part


def _tree(known: Known, member: Membership, pods: list[PodEntry], demand: Demand) -> dict[str, Any]:
    roles = {each.uid: name_group_in_tree(demand, member, read_part(known, member, each)) for each in pods}
    done = Counter(roles[each.uid] for each in pods if each.succeeded)
    tallies = {each.name: _Tally(each) for each in take_off(demand.nodes, done)}
    for name, each in tallies.items():
        if each.node.parent in tallies:
            tallies[each.node.parent].children.append(name)
    for pod in pods:
        at = roles[pod.uid]
        while at in tallies:
            if pod.phase == BOUND:
                tallies[at].by_node[pod.node] += 1
            tallies[at].pending += pod.waits
            at = tallies[at].node.parent
    whole: dict[str, bool] = {}
    rows = {
        name: _group(known, tallies[name], whole, done[name])
        for name in reversed(tallies)  # Groups below a group come before it.
    }
    root = demand.nodes[0].name
    return {
        "name": member.name,
        "kind": member.source.kind,
        "bound": sum(each.phase == BOUND for each in pods),
        "pending": sum(each.waits for each in pods),
        "pods": len(pods),
        "status": WHOLE if whole[root] else WAITING,
        "message": find_message(known, member, pods),
        "groups": [{**rows[name], "level": level} for name, level in _walk(tallies, root)],
        "total": len(rows),
    }


def _walk(tallies: Mapping[str, _Tally], root: str) -> Iterator[tuple[str, int]]:
    """Yield the groups of a tree with their levels, each group followed by those below it."""
    todo = [(root, 0)]
    while todo:
        name, level = todo.pop()
        yield name, level
        todo += [(each, level + 1) for each in reversed(tallies[name].children)]


def _group(known: Known, tally: _Tally, whole: dict[str, bool], done: int) -> dict[str, Any]:
    """Return the row of a group, and record in ``whole`` whether it has as many members as it needs.

    ``whole`` already has the groups below it; ``done`` is how many of the group's pods have succeeded.
    """
    node, inner = tally.node, bool(tally.children)
    members = sum(whole[each] for each in tally.children) if inner else tally.bound
    there = len(tally.children) if inner else tally.bound + tally.pending
    total = max(there, node.least, 0 if inner else node.expected - done)
    whole[node.name] = members >= max(node.least, min(total, 1))
    required = (*node.within, *(label for label, _ in node.divided))
    labels = [(label, True) for label in required] + [(label, False) for label in node.rather_within]
    return {
        "name": node.name,
        "parent": node.parent,
        "of": "groups" if inner else "pods",
        "members": members,
        "least": node.least,
        "total": total,
        "whole": whole[node.name],
        "bound": tally.bound,
        "pending": tally.pending,
        "nodes": len(tally.by_node),
        "domains": [_domain(known, tally, label, required=required) for label, required in labels],
    }


def _domain(known: Known, tally: _Tally, label: str, *, required: bool) -> dict[str, Any]:
    """Return the values of a node label that the nodes of a group's pods have, those with most pods first."""
    values: Counter[str] = Counter()
    for name, pods in tally.by_node.items():
        entry = known.store.nodes.get(name)
        labels = entry.facts.labels if entry is not None and entry.facts is not None else {}
        values[labels.get(label) or known.groups.find_tiers(name).get(label, "")] += pods
    ordered = sorted(values, key=lambda value: (-values[value], value))
    return {
        "label": label,
        "required": required,
        "values": ordered[:MOST_DOMAINS],
        "total": len(ordered),
    }

"""Shows gangs, and groups that are placed on a tree of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.group_trees.spec.groups import GroupName
from poseidon.group_trees.status.placement import group_by_unit, ranks
from poseidon.pod_groups.group_names import TOPOLOGY_GROUP
from poseidon.ui.cluster.records import BOUND
from poseidon.ui.views.pending import reason_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.group_trees.status.placement import Placement
    from poseidon.pod_groups.group_names import MemberPart, Membership
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known

    Members = dict[Membership, list[PodEntry]]

MOST = 500
WHOLE, WAITING = "Bound", "Waiting"


def list_gangs(known: Known, members: Members) -> list[dict[str, Any]]:
    """Return the groups that are not placed on a tree of nodes, waiting groups first."""
    found = [
        _gang(known, member, pods) for member, pods in members.items() if not is_tree_group(known, member)
    ]
    found.sort(key=lambda each: (each["status"] == WHOLE, each["name"], each["kind"]))
    return found[:MOST]


def trees(known: Known, members: Members) -> list[dict[str, Any]]:
    """Return the groups that are placed on a tree of nodes, waiting groups first."""
    found = [_tree(known, member, pods) for member, pods in members.items() if is_tree_group(known, member)]
    found.sort(key=lambda each: (each["status"] == WHOLE, each["group"]))
    return found[:MOST]


def is_tree_group(known: Known, member: Membership) -> bool:
    """Return whether a group is placed on a tree of nodes."""
    return member.source.kind == TOPOLOGY_GROUP or known.groups.sources.topology(member) is not None


def _gang(known: Known, member: Membership, pods: list[PodEntry]) -> dict[str, Any]:
    bound = sum(each.phase == BOUND for each in pods)
    pending = sum(each.waits for each in pods)
    wanted = _count_wanted(known, member, pods)
    return {
        "name": member.name,
        "kind": member.source.kind,
        "wanted": wanted,
        "bound": bound,
        "pending": pending,
        "status": WHOLE if bound >= max(wanted, 1) else WAITING,
        "message": find_message(known, member, pods),
        "pods": len(pods),
    }


def _tree(known: Known, member: Membership, pods: list[PodEntry]) -> dict[str, Any]:
    tree = known.groups.trees.tree()
    placed = {each.own_name: each for each in pods if each.phase == BOUND}
    paths = {name: tree.path(each.node) for name, each in placed.items()}
    kept = {name: each.rank for name, each in placed.items() if each.rank is not None}
    whole = len(placed) >= max(_count_wanted(known, member, pods), 1)
    described = known.groups.maps.get(GroupName(member.source.namespace, member.source.name))
    written = described.found.data if described is not None else {}
    return {
        "group": member.name,
        "status": written.get("status") or (WHOLE if whole else WAITING),
        "message": written.get("message") or find_message(known, member, pods),
        "placement": _plain(group_by_unit(paths)),
        "ranks": ranks(paths, kept) if paths and whole else kept,
        "levels": list(tree.levels),
    }


def _count_wanted(known: Known, member: Membership, pods: list[PodEntry]) -> int:
    demand = known.groups.sources.demand(member, _collect_parts(pods))
    return 0 if demand is None else demand.min_members


def find_message(known: Known, member: Membership, pods: list[PodEntry]) -> str:
    """Return what a group waits for, or "" if it does not wait."""
    if not any(each.waits for each in pods):
        return ""
    said = [each.reason for each in pods if each.waits]
    if member.domain:
        return reason_key(min(said))
    return reason_key(min(said)) or known.groups.sources.waits_for(member, _collect_parts(pods))


def _collect_parts(pods: list[PodEntry]) -> set[MemberPart]:
    """Return what the pods of a group state about the group's parts."""
    return {each.part for each in pods}


def _plain(found: Placement) -> Mapping[str, Any]:
    return {unit: list(below) if isinstance(below, tuple) else _plain(below) for unit, below in found.items()}

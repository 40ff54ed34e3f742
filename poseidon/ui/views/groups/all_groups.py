"""Shows all groups of pods in one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.ui.views.groups.applications import list_applications
from poseidon.ui.views.groups.gangs import list_gangs, trees
from poseidon.ui.views.groups.nested import find_tree, list_trees

if TYPE_CHECKING:
    from poseidon.ui.cluster.store import ClusterStore
    from poseidon.ui.page_data import Known
    from poseidon.ui.views.groups.gangs import Members


def show_groups(known: Known) -> dict[str, Any]:
    """Return all groups of pods as the JSON object that the documents describe."""
    members: Members = {}
    for each in known.store.pods.values():
        if each.group is not None:
            members.setdefault(known.groups.sources.join_bundle(each.group), []).append(each)
    in_trees = {member: pods for member, pods in members.items() if find_tree(known, member, pods)}
    plain = {member: pods for member, pods in members.items() if member not in in_trees}
    return {
        "gangs": list_gangs(known, plain),
        "nested": list_trees(known, in_trees),
        "trees": trees(known, plain),
        "applications": list_applications(known),
        "evictions": evictions(known.store),
    }


def evictions(store: ClusterStore) -> list[dict[str, Any]]:
    """Return the pods that were evicted recently, the latest first."""
    return [
        {
            "at": each.at,
            "pod": each.pod,
            "node": each.node,
            "kind": each.kind,
            "for": each.beneficiary,
            "state": "gone" if each.gone else "leaving",
        }
        for each in store.evictions.newest_first()
    ]

"""Shows the state of cluster, bridge and solver on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.ui.cluster.records import GATED, NOT_LOOKED_AT
from poseidon.ui.views.amounts import amount_text, in_order
from poseidon.ui.views.pending import by_reason

if TYPE_CHECKING:
    from poseidon.ui.cluster.store import ClusterStore
    from poseidon.ui.page_data import Known

_MOST_REASONS = 20
_MOST_RESOURCES = 50


def show_overview(known: Known) -> dict[str, Any]:
    """Return the overview as the JSON object that the documents describe.

    All counts of the overview are from one moment: that of the last figures, if figures are read.
    """
    latest = known.history.latest
    shown = set(known.rounds.list_rounds())
    return {
        **(known.counts or count_nodes_and_pods(known.store)),
        "figures": None if latest is None else latest.as_json(),
        "history": known.history.as_json(),
        "rounds": [{**each, "flow": each["round"] in shown} for each in known.rounds.summaries()],
        "leader": {
            "holder": known.leader.holder,
            "leads": known.leader.leads,
            "others": list(known.leader.others),
        },
        "solver": {
            "state": known.solver.state,
            "target": known.solver.target,
            "roundFailures": known.solver.round_failures,
        },
    }


def count_nodes_and_pods(store: ClusterStore) -> dict[str, Any]:
    """Return the part of the overview with the counts of nodes and pods."""
    bound, pending, others = store.counts()
    reasons = sorted(by_reason(store.waiting.values()).items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        "nodes": sum(1 for _ in store.iter_nodes()),
        "pods": {"bound": bound, "pending": pending, "others": others},
        "waiting": _waiting(store),
        "utilisation": utilisation(store),
        "pendingByReason": [
            {"reason": reason, "pods": len(pods)} for reason, pods in reasons[:_MOST_REASONS]
        ],
    }


def _waiting(store: ClusterStore) -> dict[str, int]:
    """Return the number of waiting pods in each state."""
    found = Counter(
        "gated" if each.phase == GATED else "new" if each.reason == NOT_LOOKED_AT else "unschedulable"
        for each in store.waiting.values()
    )
    return {name: found[name] for name in ("unschedulable", "new", "gated")}


def utilisation(store: ClusterStore) -> list[dict[str, Any]]:
    """Return sums over all nodes by resource: allocatable, requested and, if known, used.

    The measured use of a resource is shown only if it is known for every node that offers the resource.
    """
    offered, requested, used = (Counter[str]() for _ in range(3))
    silent: set[str] = set()
    for entry in store.iter_nodes():
        allocatable: Mapping[str, int] = entry.facts.allocatable if entry.facts is not None else {}
        offered.update(allocatable)
        requested.update(entry.requested)
        requested["pods"] += len(entry.pods)
        used.update(entry.used or {})
        silent |= allocatable.keys() - (entry.used or {}).keys()
    rows = []
    for name in in_order(offered.keys() | requested.keys())[:_MOST_RESOURCES]:
        amounts = {
            "allocatable": offered[name],
            "requested": min(requested[name], MAX_AMOUNT),
            "used": None if name in silent else used.get(name),
        }
        if amounts["allocatable"] or amounts["requested"]:
            texts = {key: None if each is None else amount_text(name, each) for key, each in amounts.items()}
            rows.append({"resource": name, **amounts, "text": texts})
    return rows

"""How things stand, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.ui.views.pending import by_reason

if TYPE_CHECKING:
    from poseidon.ui.known import Known

_MOST_REASONS = 20


def overview(known: Known) -> dict[str, Any]:
    """Return the documented JSON object."""
    bound, pending, others = known.store.counts()
    latest = known.history.latest
    reasons = sorted(
        by_reason(known.store.waiting.values()).items(), key=lambda item: (-len(item[1]), item[0])
    )
    return {
        "nodes": sum(1 for _ in known.store.known_nodes()),
        "pods": {"bound": bound, "pending": pending, "others": others},
        "figures": None if latest is None else latest.as_json(),
        "history": known.history.as_json(),
        "pendingByReason": [
            {"reason": reason, "pods": len(pods)} for reason, pods in reasons[:_MOST_REASONS]
        ],
        "rounds": known.rounds.summaries(),
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

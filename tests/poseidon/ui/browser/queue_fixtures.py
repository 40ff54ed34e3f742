"""Made-up queues for the page, some with names that mean harm."""

from __future__ import annotations

from typing import Any

from tests.poseidon.ui.browser.fixtures import HOSTILE, NOW

WAITING = 120
NO_QUEUES = {
    "state": "done",
    "asOf": NOW,
    "error": None,
    "note": "There is no queue.",
    "total": 0,
    "queues": [],
}
_STATE = {"state": "done", "asOf": NOW, "error": None}
_VISION = "ClusterQueue/team-vision"


def use(flavor: str, resource: str, *amounts: str) -> dict[str, Any]:
    names = ("nominal", "used", "borrowed", "lent")
    numbers = (10**18 if each == "no limit" else int(each) for each in amounts)
    return {
        "flavor": flavor,
        "resource": resource,
        **dict(zip(names, numbers, strict=True)),
        "text": dict(zip(names, amounts, strict=True)),
    }


def queue(
    name: str, parent: str, depth: int, *uses: dict[str, Any], waiting: int = 0, message: str = ""
) -> Any:
    return {
        "queue": name,
        "parent": parent,
        "depth": depth,
        "admitted": 7,
        "waiting": waiting,
        "uses": list(uses),
        "message": message,
    }


def queues() -> list[dict[str, Any]]:
    gpu = "nvidia.com/gpu"
    return [
        queue("Cohort/research", "", 0, use("a100", gpu, "8", "104", "0", "16")),
        queue(
            _VISION,
            "Cohort/research",
            1,
            use("a100", gpu, "48", "64", "16", "0"),
            use("spot", gpu, "no limit", "12", "0", "0"),
            waiting=WAITING,
        ),
        queue("ClusterQueue/team-speech", "Cohort/research", 1, use("a100", gpu, "48", "40", "0", "0")),
        queue("ClusterQueue/team-idle", "Cohort/research", 1, message="The ClusterQueue is stopped"),
        *(queue(f"VolcanoQueue/{name}", "", 0, use(name, name, "4", "4", "0", "0")) for name in HOSTILE),
    ]


def workload(position: int) -> dict[str, Any]:
    hostile = HOSTILE[(position - 2) % len(HOSTILE)] if 2 <= position <= 8 else ""
    return {
        "position": position,
        "workload": f"research/Job/{hostile or f'train-{position}'}",
        "pods": 8,
        "priority": 1000 - position,
        "created": NOW - 60 * position,
        "reason": hostile or "Insufficient quota for nvidia.com/gpu in flavor a100",
    }


def answer(parts: list[str], query: dict[str, str], offset: int, limit: int) -> dict[str, Any] | None:
    """What is answered about queues; None for another path."""
    found = queues()
    match parts:
        case ["queues"]:
            return {**_STATE, "note": "", "total": len(found), "queues": found[offset : offset + limit]}
        case ["queues", "workloads"]:
            name = query.get("queue") or _VISION
            waiting = [workload(place) for place in range(1, WAITING + 1)] if name == _VISION else []
            if query.get("workload"):
                place = next(i for i, each in enumerate(waiting) if each["workload"] == query["workload"])
                offset = place - place % limit
            shown = {"total": len(waiting), "offset": offset, "items": waiting[offset : offset + limit]}
            own = next((each for each in found if each["queue"] == name), None)
            return own and {**_STATE, "queue": own, **shown}
        case ["queues", "starts"]:
            starts = {"first": 60.0, "last": 7200.0, "lookedAhead": 604800.0, "text": ["1m", "2h"]}
            named = {f"research/Job/train-{place}": starts for place in range(1, 40)}
            return {**_STATE, "queues": {_VISION: starts}, "workloads": named if query.get("queue") else {}}
    return None

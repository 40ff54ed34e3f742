"""Made-up pods: those that wait, why each is where it is, cures, and groups."""

from __future__ import annotations

import random
import time
from typing import Any

from tests.poseidon.ui.browser.fixtures import HOSTILE, MODELS, NOW, REASONS, WORK, ZONES, node, node_name


def pending(by: str, offset: int, limit: int) -> dict[str, Any]:
    groups = []
    for i, (reason, n) in enumerate(REASONS):
        kinds = 1 if by == "class" else max(1, n // 300)
        key = f"class-{i}-{WORK[i]}" if by == "class" else reason
        groups.append(
            {
                "key": key,
                "reason": reason,
                "class": f"class-{i}-{WORK[i]}",
                "pods": n,
                "oldest": 86_000 / (i + 1),
                "oldestSince": time.time() - 86_000 / (i + 1),
                "medianSince": time.time() - 9_000 / (i + 1),
                "median": 340 / (i + 1),
                "examples": [pod_name(i, j) for j in range(3)],
                "kinds": kinds,
            }
        )
    return {
        "total": sum(n for _, n in REASONS),
        "groups": groups[offset : offset + limit],
        "groupsTotal": len(groups),
    }


def pod_name(i: int, j: int) -> str:
    """The last reason's pods mean harm; the others have a worker's names."""
    return f"research/{HOSTILE[j % len(HOSTILE)]}" if i == len(REASONS) - 1 else f"research/{WORK[i]}-{j:05d}"


def pods(query: dict[str, str], offset: int, limit: int) -> dict[str, Any]:
    text, phase, reason = query.get("q", ""), query.get("phase", ""), query.get("reason", "")
    found = []
    for i, (why, n) in enumerate(REASONS):
        if (reason and why != reason) or (query.get("class") and query["class"] != f"class-{i}-{WORK[i]}"):
            continue
        for j in range(n):
            bound = j % 3 == 2 and not reason and phase != "pending"
            found.append(
                {
                    "name": pod_name(i, j),
                    "phase": "bound" if bound else "pending",
                    "node": node_name(j) if bound else None,
                    "created": NOW - 60 * j,
                    "since": NOW - 30 * j,
                    "reason": "" if bound else why,
                    "class": f"class-{i}-{WORK[i]}",
                }
            )
    found = [p for p in found if text in str(p["name"]) and (not phase or p["phase"] == phase)]
    return {"total": len(found), "items": found[offset : offset + limit]}


def pod(name: str) -> dict[str, Any]:
    chance = random.Random(name)
    bound = "web-front" in name
    nodes: list[dict[str, Any]] = []
    for i in range(50):
        models = {
            m: {"cost": round(chance.uniform(0, 18), 1), "raw": round(chance.random(), 3), "score": 40}
            for m in MODELS
        }
        nodes.append(
            {
                "node": node_name(17 * i),
                "cost": round(sum(m["cost"] for m in models.values()), 1),
                "models": models,
                "chosen": False,
            }
        )
    nodes.sort(key=lambda each: each["cost"])
    nodes[0]["chosen"] = bound
    return {
        "pod": name,
        "phase": "bound" if bound else "pending",
        "node": nodes[0]["node"] if bound else None,
        "created": NOW - 700,
        "since": NOW - 640,
        "priority": 1_000,
        "class": "class-0-train-large",
        "group": "research/train-large",
        "requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
        "selectors": [
            "node has disk=ssd",
            "apart from pods with app=train by kubernetes.io/hostname",
            HOSTILE[0],
        ],
        "tolerations": ["dedicated=training:NoSchedule"],
        "claims": [
            {
                "name": "gpu",
                "claim": "research/batch-gpu",
                "asks": ["2 of gpu", "1 of nic"],
                "devices": ["gpu.example.com/n1/gpu-0", "gpu.example.com/n1/gpu-1"] if bound else [],
                "waits": "" if bound else "has no devices yet",
            },
            {
                "name": HOSTILE[0],
                "claim": "",
                "asks": [],
                "devices": [],
                "waits": f"not made yet from {HOSTILE[0]}",
            },
        ],
        "reason": ""
        if bound
        else "0/10000 nodes are available: 6120 Insufficient cpu, 3880 node(s) had untolerated taint(s).",
        "story": [
            {"at": NOW - 700, "what": "created"},
            {"at": NOW - 699.8, "what": "told to the solver"},
            {"at": NOW - 640, "what": "round 1093: no machine has room, Insufficient cpu"},
            {"at": NOW - 30, "what": f"{HOSTILE[0]} said something"},
        ],
        "verdicts": {
            "feasible": 212 if bound else 0,
            "refused": 9_788,
            "models": MODELS,
            "nodes": nodes if bound else nodes[:6],
            "refusals": [
                {"reasons": [reason], "nodes": n * 2, "examples": [node_name(3 * n + j) for j in range(3)]}
                for reason, n in REASONS[:5]
            ],
        },
        "verdictsError": None,
        "price": {
            "round": 1_100,
            "node": nodes[0]["node"],
            "cost": nodes[0]["cost"],
            "machinePrice": 22.5,
            "total": nodes[0]["cost"] + 22.5,
            "dearer": 1.4,
            "models": {m: each["cost"] for m, each in nodes[0]["models"].items()},
        }
        if bound
        else None,
        "room": []
        if bound
        else [
            {"class": f"{WORK[i]}-{i}", "tasks": 220 - 20 * i, "node": node_name(i * 11)} for i in range(4)
        ],
        "outlook": [
            "A node of the group gpu-large would take 8 of these pods.",
            "The next pod to end there frees cpu 4.",
        ],
    }


def cures() -> list[dict[str, Any]]:
    return [
        {
            "text": "Move research/batch-small-0003 to another node",
            "kind": "move",
            "node": node_name(42),
            "changes": [],
            "moves": [{"pod": "research/batch-small-0003", "from": node_name(42), "to": node_name(4_242)}],
            "others": "1 pod is moved; costs 3.5 points more where it goes",
        },
        {
            "text": "Ask for cpu 3500m instead of 4",
            "kind": "request",
            "node": node_name(77),
            "changes": ["spec.containers[0].resources.requests.cpu: 4 -> 3500m"],
            "moves": [],
            "others": "nothing",
        },
        {
            "text": f"Tolerate the taint {HOSTILE[0]}",
            "kind": "toleration",
            "node": node_name(9),
            "changes": ["spec.tolerations: add dedicated=batch:NoSchedule"],
            "moves": [],
            "others": "nothing",
        },
    ]


def groups() -> dict[str, Any]:
    statuses = ["Running", "Scheduling", "Pending", "Failed"]
    gangs = [
        {
            "name": f"research/{WORK[i % 10]}-{i}",
            "kind": ["PodGroup", "Job"][i % 2],
            "wanted": 16,
            "bound": [16, 9, 0, 14][i % 4],
            "pending": [0, 7, 16, 2][i % 4],
            "status": statuses[i % 4],
            "message": ["", "7 pods wait for Insufficient cpu", "14 of 16 pods exist", HOSTILE[0]][i % 4],
            "pods": 16,
        }
        for i in range(12)
    ]
    placement = {
        f"block-{b}": {
            f"rack-{b}{r}": {
                node_name(20 * b + 4 * r + n): [f"train-{b}{r}{n}-{p}" for p in range(2)] for n in range(3)
            }
            for r in range(2)
        }
        for b in range(2)
    }
    names = [
        pod
        for racks in placement.values()
        for nodes in racks.values()
        for on_node in nodes.values()
        for pod in on_node
    ]
    trees = [
        {
            "group": "research/llm-pretrain",
            "status": "Placed",
            "message": "24 pods over 2 blocks",
            "placement": placement,
            "ranks": {pod: i for i, pod in enumerate(names)},
            "levels": ["block", "rack", "node"],
        },
        {
            "group": f"research/{HOSTILE[3]}",
            "status": "Waiting",
            "message": "no block has room for 8 racks",
            "placement": {},
            "ranks": {},
            "levels": ["block", "rack", "node"],
        },
    ]
    workloads = ["frontend", "checkout", "cart", "redis", HOSTILE[0]]
    applications = [
        {
            "appGroup": "shop/online-boutique",
            "workloads": [
                {
                    "workload": name,
                    "order": i + 1,
                    "zones": {zone: (i + 2) * (1 + j) % 4 for j, zone in enumerate(ZONES[:3])},
                    "pending": (i == 2 and 2) or 0,
                }
                for i, name in enumerate(workloads)
            ],
            "edges": [
                {"from": "frontend", "to": "checkout", "cost": 12.0, "max": 30, "broken": 0},
                {"from": "frontend", "to": "cart", "cost": 48.5, "max": 40, "broken": 2},
                {"from": "cart", "to": "redis", "cost": 3.0, "max": None, "broken": 0},
            ],
            "cost": 63.5,
            "zones": ZONES[:3],
        }
    ]
    evictions = [
        {
            "at": NOW - 41 * i,
            "pod": f"research/batch-small-{i:04d}",
            "node": node_name(i),
            "kind": ["preempted", "moved", "evicted"][i % 3],
            "for": None if i % 3 == 2 else "research/train-large-0001",
            "state": "leaving" if i < 2 else "gone",
        }
        for i in range(40)
    ]
    return {
        "gangs": gangs,
        "nested": _nested(),
        "trees": trees,
        "applications": applications,
        "evictions": evictions,
    }


def _nested() -> list[dict[str, Any]]:
    def group(name: str, parent: str, level: int, **fields: Any) -> dict[str, Any]:
        plain = {"of": "pods", "members": 8, "least": 8, "total": 8, "whole": True}
        counts = {"bound": 8, "pending": 0, "nodes": 4, "domains": []}
        return {"name": name, "parent": parent, "level": level, **plain, **counts, **fields}

    def domain(label: str, *values: str, required: bool = True, total: int = 0) -> dict[str, Any]:
        return {
            "label": label,
            "required": required,
            "values": [*values],
            "total": total or len(values),
        }

    zone, rack = "topology.kubernetes.io/zone", "topology.example.com/rack"
    inner = {"of": "groups", "members": 1, "least": 2, "total": 2, "whole": False}
    waiting = {"members": 5, "least": 8, "total": 12, "whole": False, "bound": 5, "pending": 7}
    groups = [
        group("llm", "", 0, **inner, bound=21, pending=7, nodes=9, domains=[domain(zone, ZONES[0])]),
        group("llm-0", "llm", 1, of="groups", members=2, least=2, total=2, domains=[domain(rack, "rack-11")]),
        group("llm-0-prefill", "llm-0", 2),
        group("llm-0-decode", "llm-0", 2, domains=[domain(rack, "rack-11", required=False)]),
        group("llm-1", "llm", 1, **inner, bound=5, domains=[domain(rack, "rack-3", "rack-7", total=14)]),
        group(HOSTILE[0], "llm-1", 2, **waiting, domains=[domain(zone, HOSTILE[1])]),
        group(HOSTILE[3], "llm-1", 2, bound=0, members=0, whole=False, domains=[domain(rack)]),
    ]
    tree = {"kind": "CompositePodGroup", "bound": 21, "pending": 7, "pods": 28, "status": "Waiting"}
    return [
        {"name": "serving/llm", **tree, "message": REASONS[1][0], "groups": groups, "total": 9},
        {"name": HOSTILE[6], **tree, "message": HOSTILE[0], "groups": [], "total": 3},
    ]


def answer(parts: list[str], query: dict[str, str], offset: int, limit: int) -> dict[str, Any] | None:
    """What is answered about nodes, pods and groups; None for no such path or pod."""
    match parts:
        case ["nodes", *name]:
            return node("/".join(name), offset, limit)
        case ["pending"]:
            return pending(query.get("by", "reason"), offset, limit)
        case ["pods"]:
            return pods(query, offset, limit)
        case ["pods", namespace, *name] if not name[0].startswith("absent"):
            return pod(f"{namespace}/{'/'.join(name)}")
        case ["groups"]:
            return groups()
    return None

"""A made-up cluster for the page: ten thousand nodes, a hundred thousand pods, and names that mean harm."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

NOW = 1_790_000_000.0
NODES, PODS = 10_000, 100_000
ZONES = [f"eu-west-1{letter}" for letter in "abcde"]
RACKS = 200
HOSTILE = [
    "<img src=x onerror=window.harm=1>",
    '"><script>window.harm=1</script>',
    "\u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627",
    "__proto__",
    "constructor",
    "javascript:window.harm=1",
    "x" * 10_000,
]
REASONS = [
    ("Insufficient cpu", 4_120),
    ("Insufficient nvidia.com/gpu", 1_310),
    ("node(s) had untolerated taint(s) {dedicated: batch}", 640),
    ("node(s) didn't match Pod's node affinity/selector", 212),
    ("gang has 14 of 16 pods", 96),
    ("node(s) didn't have free ports for the requested pod ports", 21),
    (HOSTILE[0], len(HOSTILE)),
]
MODELS = ["cpu_mem", "kubernetes", "load_threshold", "network_overhead", "numa_fit"]
WORK = [
    "train-large",
    "web-front",
    "etl-nightly",
    "spark-exec",
    "render",
    "ingest",
    "search",
    "batch-small",
    "notebook",
    "ci",
]
LEVELS = ["topology.kubernetes.io/zone", "topology.example.com/rack", "node.kubernetes.io/instance-type"]


def node_name(i: int) -> str:
    """Names of nodes; a few of them mean harm."""
    return HOSTILE[i - 100] if 100 <= i < 100 + len(HOSTILE) else f"{ZONES[i % 5]}-r{i % RACKS:03d}-n{i:05d}"


def figures(t: int) -> dict[str, Any]:
    return {
        "nodes": NODES,
        "leads": True,
        "solver": {"connected": True, "refused": False, "roundFailures": 0},
        "waiting": {"active": 6_402, "backoff": 311, "unschedulable": 5_980, "gated": 12},
        "bindingsInFlight": 84,
        "boundPerSecond": round(880 + 90 * math.sin(t / 7), 1),
        "bound": 1_204_331 + 900 * t,
        "seconds": {
            "scheduling": {"p50": 0.231, "p99": 1.84},
            "answer": {"p50": 0.094, "p99": 0.41},
            "binding": {"p50": 0.012, "p99": 0.055},
        },
        "roundsPerSecond": 2.13,
        "stages": {"snapshot": 0.011, "network": 0.034, "solve": 0.048, "admit": 0.012},
        "arcs": 184_203,
    }


def utilisation(t: int) -> list[dict[str, Any]]:
    rows: list[tuple[str, int, int, int | None, str, str, str | None]] = [
        ("cpu", 320_000_000, 198_400_000 + 1000 * t, 121_000_000, "320000", "198400", "121000"),
        ("memory", 2**50, 5 * 2**47, None, "1Pi", "640Ti", None),
        ("pods", 1_100_000, 92_000, None, "1100000", "92000", None),
        ("ephemeral-storage", 2**50, 2**45, None, "1Pi", "32Ti", None),
        ("nvidia.com/gpu", 1_200, 1_200, None, "1200", "1200", None),
        (HOSTILE[0], 10, 20, None, "10", "20", None),
    ]
    return [
        {
            "resource": name,
            "allocatable": offered,
            "requested": requested,
            "used": used,
            "text": {"allocatable": a, "requested": r, "used": u},
        }
        for name, offered, requested, used, a, r, u in rows
    ]


def overview(t: int) -> dict[str, Any]:
    chance = random.Random(5)
    at = [NOW + 2 * (i + t) for i in range(-449, 1)]

    def wave(base: float, swing: float, pace: float, noise: float) -> list[float | None]:
        # Two minutes are missing, as they are after the page's server was started anew.
        values = [base + swing * math.sin((i + t) / pace) + chance.gauss(0, noise) for i in range(450)]
        return [None if 200 <= i < 214 else round(max(v, 0.004), 4) for i, v in enumerate(values)]

    pending = sum(n for _, n in REASONS)
    return {
        "nodes": NODES,
        "pods": {"bound": PODS - pending - 1_420, "pending": pending, "others": 1_420},
        "waiting": {"unschedulable": pending - 400, "new": 388, "gated": 12},
        "utilisation": utilisation(t),
        "figures": figures(t),
        "history": {
            "at": at,
            "boundPerSecond": wave(860, 180, 31, 40),
            "schedulingP50": wave(0.22, 0.05, 23, 0.01),
            "schedulingP99": wave(1.6, 0.5, 41, 0.08),
            "pending": wave(6_400, 1_100, 57, 60),
            "roundsPerSecond": wave(2.1, 0.2, 19, 0.1),
        },
        "pendingByReason": [{"reason": reason, "pods": n} for reason, n in REASONS],
        "rounds": [round_of(n + t) for n in range(901, 1_101)],
        "leader": {
            "holder": "poseidon-7c9f8d6b5-x2lqp",
            "leads": True,
            "others": ["poseidon-7c9f8d6b5-h8wzt"],
        },
        "solver": {"state": "connected", "target": "firmament.poseidon.svc:9090", "roundFailures": 0},
    }


def round_of(n: int) -> dict[str, Any]:
    chance = random.Random(n)
    tasks = chance.randrange(200, 9_000)
    scale = tasks / 9_000 * (3 if n % 37 == 0 else 1)
    return {
        "round": n,
        "ended": NOW + (n - 1_100) * 0.47,
        "seconds": {
            "snapshot": 0.006 + 0.012 * scale * chance.random(),
            "network": 0.012 + 0.06 * scale * chance.random(),
            "solve": 0.015 + 0.11 * scale * chance.random(),
            "admit": 0.004 + 0.02 * scale * chance.random(),
        },
        "machines": NODES,
        "tasks": tasks,
        "classes": chance.randrange(8, 120),
        "arcs": chance.randrange(40_000, 260_000),
        "placed": int(tasks * 0.62),
        "pending": tasks - int(tasks * 0.62),
        "evictions": (n % 41 == 0 and 3) or 0,
        "certified": n % 23 != 0,
        "flow": n % 2 == 0 or n > 1_085,
        "gap": 0.0 if n % 23 else 0.0042,
        "cost": chance.randrange(40_000, 900_000),
    }


@cache
def flow(number: int, group_by: str) -> dict[str, Any]:
    """Classes, what gates them, groups of machines, and what became of the tasks."""
    chance = random.Random(number)
    names = {LEVELS[0]: ZONES, LEVELS[1]: [f"rack-{i:02d}" for i in range(18)], "": ["all machines"]}
    groups = names.get(group_by, [f"m{i}.4xlarge" for i in range(5, 12)])
    gates = [
        ("", ""),  # of classes of which none waits
        ("node(s) had untolerated taint(s) {dedicated: batch}", "8,960 of 10,000 machines"),
        ("Insufficient nvidia.com/gpu", "9,712 of 10,000 machines"),
        ("node(s) didn't match Pod's node affinity/selector", "6,000 of 10,000 machines"),
        ("Insufficient memory", "4,410 of 10,000 machines"),
    ]
    nodes: list[dict[str, Any]] = []
    links: dict[tuple[str, str], dict[str, Any]] = {}

    def flows(source: str, target: str, tasks: int, price: float | None, cut: bool) -> None:
        link = links.setdefault(
            (source, target),
            {"source": source, "target": target, "tasks": 0, "price": price, "saturated": cut},
        )
        link["tasks"] += tasks

    full = {f"g{i}": i % 4 == 1 for i in range(len(groups))}
    price = {g: round(chance.uniform(30, 92) if cut else chance.uniform(0, 14), 1) for g, cut in full.items()}
    used = dict.fromkeys(full, 0)
    through = [0] * len(gates)
    waiting_by_gate = [0] * len(gates)
    for i in range(24):
        tasks = int(12 * 1.32 ** (24 - i)) if i < 20 else chance.randrange(3, 40)
        gate = chance.choices(range(len(gates)), [6, 2, 2, 1, 1])[0]
        wait = int(tasks * chance.choice([0, 0, 0.1, 0.3])) if gate else 0
        wait = int(tasks * 0.7) if gate == 2 else wait
        label = HOSTILE[i - 12] if 12 <= i < 15 else f"{WORK[i % 10]}-{i}"
        nodes.append(
            {
                "id": f"c{i}",
                "layer": "classes",
                "label": label,
                "tasks": tasks,
                "price": None if not gate else round(10 + 12 * gate, 1),
                "saturated": False,
                "sub": f"{tasks - wait:,} placed",
            }
        )
        through[gate] += wait
        waiting_by_gate[gate] += wait
        if wait:
            flows(f"c{i}", f"k{gate}", wait, round(10 + 12 * gate, 1), cut=True)
        left = tasks - wait
        targets = (
            list(full)
            if gate == 0
            else [g for j, g in enumerate(full) if j % len(gates) in {gate, 0, gate - 1}]
        )
        weights = [chance.random() ** 3 + 0.02 for _ in targets]
        for j, (target, weight) in enumerate(zip(targets, weights, strict=True)):
            part = left if j == len(targets) - 1 else min(left, int((tasks - wait) * weight / sum(weights)))
            left -= part
            if part:
                flows(f"c{i}", target, part, price[target], full[target])
                used[target] += part
    causes = []
    for i, (label, sub) in enumerate(gates):
        if through[i]:
            causes.append(_node(f"k{i}", "constraints", label, through[i], 6 + 15 * i, True, sub))
    size = NODES // len(groups)
    for (g, cut), name in zip(full.items(), groups, strict=True):
        if used[g]:
            sub = f"{size if cut else size * 3 // 5:,} of {size:,} machines used, " + (
                "no room" if cut else f"room for {size // 3:,} more"
            )
            nodes.append(_node(g, "machines", name, used[g], price[g], cut, sub))
            flows(g, "used", used[g], price[g], cut)
    nodes += causes
    for i, wait in enumerate(waiting_by_gate):
        if wait:
            flows(f"k{i}", "waiting", wait, 92.0, True)
    waiting = sum(waiting_by_gate)
    nodes.append(_node("used", "outcome", "used", sum(used.values()), None, False, ""))
    nodes.append(_node("waiting", "outcome", "waiting", waiting, 92.0, True, "no place at any price"))
    return {
        "round": number,
        "rounds": list(range(1_081, 1_101)),
        "ended": NOW,
        "certified": True,
        "gap": 0.0,
        "cost": 402_118,
        "tasks": sum(through) + sum(used.values()),
        "placed": sum(used.values()),
        "groupBy": group_by,
        "groupings": [*LEVELS, ""],
        "priceMost": 92.0,
        "nodes": nodes,
        "links": list(links.values()),
        "others": {"classes": 0, "groups": 0},
    }


def _node(
    key: str, layer: str, label: str, tasks: int, price: float | None, cut: bool, sub: str
) -> dict[str, Any]:
    return {
        "id": key,
        "layer": layer,
        "label": label,
        "tasks": tasks,
        "price": price,
        "saturated": cut,
        "sub": sub,
    }


def flow_class(key: str, offset: int, limit: int) -> dict[str, Any]:
    chance = random.Random(key)
    total = 4_311
    arcs = []
    for i in range(offset, min(offset + limit, total)):
        models = {m: round(chance.uniform(0, 40) * (1 - i / total), 1) for m in MODELS}
        arcs.append(
            {
                "machine": node_name(i * 7 % NODES),
                "group": ZONES[i % 5],
                "tasks": chance.randrange(0, 4),
                "cost": round(sum(models.values()), 1),
                "machinePrice": round(chance.uniform(0, 60), 1),
                "models": models,
            }
        )
    return {
        "id": key,
        "label": f"{WORK[int(key[1:] or 0) % 10]}-{key[1:]}",
        "job": f"Job/{WORK[int(key[1:] or 0) % 10]}",
        "namespace": "research",
        "priority": 1_000,
        "tasks": 1_204,
        "placed": 812,
        "price": 41.5,
        "requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
        "refusals": [{"reason": reason, "machines": 400 + 13 * n} for reason, n in REASONS[1:5]],
        "keptBack": [{"reason": "node(s) didn't match pod anti-affinity rules", "machines": 61}],
        "open": total,
        "arcs": arcs,
        "total": total,
    }


def flow_constraint(key: str) -> dict[str, Any]:
    shown = flow(1_100, LEVELS[0])
    return {
        "id": key,
        "label": next((n["label"] for n in shown["nodes"] if n["id"] == key), key),
        "refusals": [
            {"reason": reason, "machines": 9_712 - 1_800 * i} for i, (reason, _) in enumerate(REASONS[1:5])
        ],
        "classes": [
            {
                "id": n["id"],
                "label": n["label"],
                "tasks": n["tasks"],
                "placed": n["tasks"] * 2 // 3,
                "price": n["price"],
            }
            for n in shown["nodes"]
            if n["layer"] == "classes"
        ],
    }


def flow_machines(key: str, offset: int, limit: int) -> dict[str, Any]:
    total = 2_000
    return {
        "id": key,
        "label": ZONES[int(key[1:]) % 5] if key[1:].isdigit() else key,
        "machines": total,
        "saturated": 1_422,
        "room": 310,
        "priceMost": 92.0,
        "items": [
            {
                "machine": node_name(5 * i),
                "price": round(92 * (1 - i / total) ** 2, 1),
                "room": i // 40,
                "saturated": i < 1_422,
                "tasks": 6 - i % 5,
            }
            for i in range(offset, min(offset + limit, total))
        ],
        "total": total,
        "classes": [
            {"id": f"c{i}", "label": f"{WORK[i]}-{i}", "tasks": 900 - 80 * i, "cost": 12.5 + i}
            for i in range(8)
        ],
    }


def flow_answer(below: list[str], query: dict[str, str], offset: int, limit: int) -> dict[str, Any] | None:
    """What is answered at the flow and below it."""
    match below:
        case []:
            return flow(int(query.get("round") or 1_100), query.get("groupBy", LEVELS[0]))
        case ["classes", key]:
            return flow_class(key, offset, limit)
        case ["constraints", key]:
            return flow_constraint(key)
        case ["machines", key]:
            return flow_machines(key, offset, limit)
    return None


@cache
def cluster(level: str, t: int) -> dict[str, Any]:
    chance = random.Random(7)
    groups = {LEVELS[0]: ZONES, LEVELS[1]: [f"rack-{i:03d}" for i in range(RACKS)]}.get(
        level, [f"m{i}.4xlarge" for i in range(5, 12)]
    )
    columns: dict[str, list[Any]] = {
        key: [] for key in ("name", "group", "cpu", "memory", "pods", "cpuUsed", "memoryUsed", "hot", "flags")
    }
    for i in range(NODES):
        fill = min(max(chance.gauss(0.62 + 0.2 * math.sin(i / 300), 0.18), 0.02), 1.0)
        cpu, memory = int(1_000 * fill), int(1_000 * min(1.0, max(0.02, fill + chance.gauss(0, 0.1))))
        used = None if i % 97 == 0 else int(cpu * chance.uniform(0.3, 0.95))
        flag = chance.choices([0, 1, 2, 4, 16, 32], [940, 12, 4, 36, 6, 2])[0]
        row = {
            "name": node_name(i),
            "group": i % len(groups),
            "cpu": min(1000, (cpu + t) % 1001) if i % 50 == 0 else cpu,
            "memory": memory,
            "pods": chance.randrange(0, 560),
            "cpuUsed": used,
            "memoryUsed": None if used is None else int(memory * 0.7),
            "hot": chance.choice([None, 0, 500, 1_000]),
            "flags": flag | (8 if used is not None and used > 800 else 0),
        }
        for key, value in row.items():
            columns[key].append(value)
    return {
        "levels": LEVELS,
        "level": level,
        "groups": groups,
        "nodes": columns,
        "thresholds": {"cpu": 80, "memory": 85},
    }


def node(name: str, offset: int, limit: int) -> dict[str, Any]:
    total = 212
    resources: list[tuple[Any, ...]] = [
        ("cpu", 32, 28.5, 19.2, "32", "28500m", "19200m"),
        ("memory", 128, 96, 71, "128Gi", "96Gi", "71Gi"),
    ]
    resources.append(("ephemeral-storage", 400, 20, None, "400Gi", "20Gi", ""))
    resources.append(("nvidia.com/gpu", 8, 8, None, "8", "8", ""))
    return {
        "name": name,
        "labels": {
            "topology.kubernetes.io/zone": ZONES[0],
            "kubernetes.io/arch": "amd64",
            "__proto__x": HOSTILE[0],
        },
        "taints": ["dedicated=batch:NoSchedule"],
        "conditions": ["Ready", "MemoryPressure=False"],
        "allocatable": {key: a for key, a, *_ in resources},
        "requested": {key: r for key, _, r, *_ in resources},
        "used": {key: u for key, _, _, u, *_ in resources if u is not None},
        "resources": [
            {
                "resource": key,
                "allocatable": a,
                "requested": r,
                "used": u,
                "text": {"allocatable": ta, "requested": tr, "used": tu},
            }
            for key, a, r, u, ta, tr, tu in resources
        ],
        "thresholds": {"cpu": 80, "memory": 85},
        "devices": {
            "total": 9,
            "free": 3,
            "items": [
                {
                    "driver": "gpu.example.com",
                    "pool": name,
                    "device": device,
                    "claims": [
                        {"claim": f"research/{claim}", "share": share, "pods": ["research/train-large-1"]}
                        for claim in claims
                    ],
                }
                for device, share, claims in (
                    ("gpu-0", "", ["train-gpus"]),
                    ("gpu-1", "3f", ["notebook-a", HOSTILE[0]]),
                    ("gpu-2", "", []),
                )
            ],
        },
        "zones": [
            {
                "zone": f"node-{z}",
                "resources": [
                    {"resource": "cpu", "allocatable": 16, "available": 2 + 5 * z},
                    {"resource": "memory", "allocatable": 64, "available": 20},
                    {"resource": "nvidia.com/gpu", "allocatable": 4, "available": z},
                ],
            }
            for z in range(2)
        ],
        "nominated": ["research/train-large-3-0007"],
        "pods": [
            {
                "name": f"research/{WORK[i % 10]}-{i:04d}" if i else f"research/{HOSTILE[1]}",
                "since": NOW - 400 * i,
                "priority": 1_000 * (i % 3),
                "requests": "cpu 500m, memory 2Gi",
                "owner": f"Job/{WORK[i % 10]}",
            }
            for i in range(offset, min(offset + limit, total))
        ],
        "totalPods": total,
        "history": [
            {
                "at": NOW - 37 * i,
                "what": ["bound", "gone", "evicted", "bound"][i % 4],
                "pod": f"research/{WORK[i % 10]}-{i:04d}",
            }
            for i in range(12)
        ]
        + [{"at": NOW - 900, "what": "cordoned", "pod": None}],
        "requestedHistory": {
            "at": [NOW - 10 * (60 - i) for i in range(60)],
            "cpu": [700 + int(190 * math.sin(i / 9)) for i in range(60)],
            "memory": [600 + 3 * i for i in range(60)],
        },
    }

"""Hostile scalars: texts, numbers, times, amounts and JSON that are odd, long, deep or far out of range."""

from __future__ import annotations

import json
from random import Random
from typing import Any

TEXTS = (
    "",
    " ",
    "x" * 70,
    "x" * 5_000,
    "9" * 5_000,
    "\ud800",
    "a\udfffb",
    "\x00",
    "line\nlevel=error forged=yes",
    'quote" key=value',
    "../../secrets/x",
    "a/b/c",
    "%s%s%n",
    "{0.__class__}",
    "٣",
    "²",
    "ⅷ",
    "-0",
    "1e400",
    "nan",
    "null",
    "\u202egnp.exe",
    "🙂" * 40,
    ",",
    "=",
    "a=b,c!=d",
    "TopologyGroup/decent/train",
    "default/decent-0",
)
NUMBERS = (
    0,
    -1,
    1,
    100,
    101,
    65_535,
    65_536,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**32,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    10**400,
    10**4_000,
    1.5,
    1e300,
)
TIMES = (
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "2026-W01",
    "20260101",
    "10000-01-01T00:00:00Z",
    "not a time",
    "2026-01-01T00:00:00+99:99",
)
AMOUNTS = (
    "1",
    "100m",
    "2Gi",
    "8Pi",
    "9007199254740992",
    "9007199254740993",
    "8192P",
    "-1",
    "1e400",
    "1e-400",
    "0.000000001",
    "9" * 64,
    "9" * 5_000,
    "1Zi",
    "",
    "NaN",
    "१",
)
WORDS = {
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "Maybe"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute", "Explode"),
    "phase": ("Pending", "Running", "Succeeded", "Failed", "Bound", "Released", "Lost", "Odd"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway", "Whatever"),
    "nodeAffinityPolicy": ("Honor", "Ignore", "Maybe"),
    "nodeTaintsPolicy": ("Honor", "Ignore", "Maybe"),
    "protocol": ("TCP", "UDP", "SCTP", "HTTP"),
    "restartPolicy": ("Always", "Never"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "topologyKey": ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "no/such", ""),
    "status": ("True", "False", "Unknown"),
    "type": ("PodScheduled", "Initialized", "Ready", "Node"),
    "volumeBindingMode": ("WaitForFirstConsumer", "Immediate"),
    "volumeMode": ("Filesystem", "Block"),
    "accessModes": ("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"),
    "reason": ("OutOfcpu", "Unschedulable", "NodeAffinity"),
    "kind": ("ReplicaSet", "StatefulSet", "Job", "DaemonSet", "PodGroup", "Node"),
    "name": ("node-0", "node-1", "main", "topologyManagerPolicy", "mallory-0", "mallory-1"),
    "claimName": ("mallory-0", "mallory-1"),
    "resourceClaimName": tuple(f"mallory-{index}" for index in range(50)),
    "podGroupName": ("mallory-0", "mallory-1"),
    "storageClassName": ("mallory-0", "mallory-1"),
}
"""Words that fields know, by their names, so that what stands beside them is read at all."""

LABEL_VALUES = ("a", "b", "0", "decent", "mallory-0")


def text(random: Random) -> str:
    """Draw a text."""
    return random.choice(random.choice((TEXTS, TIMES, AMOUNTS, LABEL_VALUES)))


def deep(random: Random) -> str:
    """Draw JSON that is nested so deep that readers fail: in themselves, or later."""
    levels = random.choice((40, 65, 300, 900, 950, 999, 3_000, 100_000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}")))
    return opening * levels + ("1" if closing == "}" else "") + closing * levels


def json_text(random: Random) -> str:
    """Draw JSON as people put it into annotations and ConfigMaps."""
    rules = {
        random.choice(("rack", "node", "\ud800", "", "x" * 300)): random.choice(
            (
                {},
                {
                    "type": random.choice(("pack", "spread", "\udc00", 5)),
                    "hard": random.choice((True, "yes")),
                },
                {"partitions": random.choice(NUMBERS)},
                {
                    "min": random.choice(NUMBERS),
                    "max": random.choice(NUMBERS),
                    "factor": random.choice(NUMBERS),
                },
                "pack",
                None,
            )
        )
        for _ in range(random.randint(0, 3))
    }
    return random.choice(
        (
            json.dumps(rules),
            deep(random),
            '{"rack": ' + deep(random) + "}",
            '{"a": NaN}',
            '{"a": 1e999}',
            '{"a": ' + "9" * 5_000 + "}",
            '{"a": 1, "a": 2}',
            '["\\ud800"]',
            json.dumps({"spec": {"workloads": [{"workload": {"name": "\ud800"}}]}}),
            json.dumps({"name": "\ud800", "size": "2"}),
            '"',
            "[" + "1," * 20_000 + "1]",
        )
    )


def spoil(random: Random, document: Any) -> Any:
    """Return a document with something odd in one place."""
    if isinstance(document, dict) and document and random.random() < 0.85:
        key = random.choice([*document])
        if random.random() < 0.1:
            return {**document, text(random): document[key]}
        if random.random() < 0.1:
            return {name: each for name, each in document.items() if name != key}
        return {**document, key: spoil(random, document[key])}
    if isinstance(document, list) and document and random.random() < 0.85:
        at = random.randrange(len(document))
        if random.random() < 0.2:
            return [*document, document[at]]
        return [*document[:at], spoil(random, document[at]), *document[at + 1 :]]
    return random.choice((None, True, {}, [], [[]], {"a": {}}, text(random), random.choice(NUMBERS)))

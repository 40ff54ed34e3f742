"""Payloads of records of every kind that the core or some model reads: as they should be, and spoiled somewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from cost_models.firmament_policies.sjf import HISTORY
from cost_models.firmament_policies.whare_samples import RECORD_KIND as PERFORMANCE
from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.network_aware.records import APP_GROUP
from cost_models.network_aware.records import TOPOLOGY as NETWORK
from cost_models.numa.records import RECORD_KIND as NUMA
from firmament.core.record_kinds import (
    BUDGET_RECORD,
    DEVICE_CLAIM_RECORD,
    DEVICE_CLASS_RECORD,
    DEVICE_FEATURES_RECORD,
    DEVICE_SLICE_RECORD,
    NAMESPACE_RECORD,
    NOMINATION_RECORD,
)
from firmament.core.rules.devices.objects.features import FEATURES
from tests.programs.hostile import device_specs, values

KINDS = (
    APP_GROUP,
    NETWORK,
    NUMA,
    HISTORY,
    GROUP_RECORD,
    TREE_RECORD,
    PERFORMANCE,
    BUDGET_RECORD,
    NAMESPACE_RECORD,
    NOMINATION_RECORD,
    DEVICE_CLASS_RECORD,
    DEVICE_SLICE_RECORD,
    DEVICE_CLAIM_RECORD,
    DEVICE_FEATURES_RECORD,
    "Unheard",
)
MACHINES = tuple(f"h-{index}" for index in range(6))
JOBS = tuple(f"j-{index}" for index in range(4))
NAMESPACES = ("mallory", "default")
PROGRAMS = ("sort", "grep")
WORKLOADS = ("a", "b", "c")
APP_GROUPS = ("mallory/shop", "mallory/bank")
CLAIMS = tuple(f"mallory/claim-{index}" for index in range(4))


def record_name(random: Random, kind: str) -> str:
    """Draw a name that somebody looks for."""
    names = {
        NUMA: MACHINES,
        HISTORY: PROGRAMS,
        PERFORMANCE: PROGRAMS,
        GROUP_RECORD: JOBS,
        TREE_RECORD: ("tree",),
        NAMESPACE_RECORD: NAMESPACES,
        NETWORK: ("mallory/net",),
        DEVICE_CLASS_RECORD: device_specs.CLASSES,
        DEVICE_SLICE_RECORD: ("slice-0", "slice-1", "slice-2"),
        DEVICE_CLAIM_RECORD: CLAIMS,
        DEVICE_FEATURES_RECORD: ("features",),
        "Unheard": MACHINES,
    }
    return random.choice(names.get(kind, APP_GROUPS))


def payload(random: Random, kind: str, wild: float) -> bytes:
    """Draw a payload; ``wild``: how likely something in it is odd."""
    if kind == NOMINATION_RECORD:
        return random.choice((*MACHINES, "decent-0", "nowhere")).encode()
    document = _sane(random, kind, wild)
    if random.random() < wild:
        for _ in range(random.choice((1, 1, 2, 5))):
            document = values.spoil(random, document)
    if kind == BUDGET_RECORD:
        document = _with_disrupted(document)
    encoded = json.dumps(document).encode()
    if random.random() < 0.2 * wild:
        encoded = random.choice(
            (
                values.deep(random).encode(),
                b'{"labels": ' + values.deep(random).encode() + b"}",
                encoded[: random.randint(0, len(encoded))],
                encoded.replace(b"1", b"1e999"),
                encoded.replace(b"1", b"NaN"),
                b"\xff\xfe" + encoded,
                b"[" * 40,
                b"null",
            )
        )
    return encoded


def _sane(random: Random, kind: str, wild: float) -> Any:
    if kind == DEVICE_CLASS_RECORD:
        return device_specs.draw_class(random, wild / 2)
    if kind == DEVICE_SLICE_RECORD:
        return device_specs.draw_slice(random, wild / 2, MACHINES)
    if kind == DEVICE_CLAIM_RECORD:
        return _claim(random, wild)
    draw = _DOCUMENTS.get(kind, _namespace)
    return draw(random)


def _claim(random: Random, wild: float) -> Any:
    return {
        "spec": device_specs.draw_claim(random, wild / 2),
        "allocation": device_specs.draw_allocation(random, wild / 2, MACHINES),
        "reserved_for": random.choice(([], ["m-1"], ["m-1", "m-2", "decent-0"])),
        "in_use_by": [],
    }


def _features(random: Random) -> Any:
    return {gate: random.random() < 0.7 for gate in sorted(FEATURES)}


def _app_group(random: Random) -> Any:
    return {"workloads": [_workload(random, name, order) for order, name in enumerate(WORKLOADS, 1)]}


def _network(random: Random) -> Any:
    pairs = {"a": {"b": random.choice((0, 5, 100))}, "b": {"a": 20}}
    room = {"a": {"b": random.choice((0, 10**9))}}
    levels = {"region": pairs, "zone": pairs}
    return {"weights": {"UserDefined": levels}, "capacity": {"region": room, "zone": room}}


def _history(random: Random) -> Any:
    return {"count": random.choice((1, 100)), "meanSeconds": random.choice((0.5, 41.5, 1e6))}


def _group(random: Random) -> Any:
    return {"group": "mallory/train", "constraints": {random.choice(("rack", "node")): _rule(random)}}


def _tree(_: Random) -> Any:
    racks: dict[str, Any] = {f"rack-{index}": {name: {} for name in MACHINES[index::2]} for index in range(2)}
    return {"name": "tree", "levels": ["rack", "node"], "resources": ["cpu"], "tree": racks}


def _budget(random: Random) -> Any:
    selector = [{"key": "app", "operator": random.choice(("In", "NotIn")), "values": ["a"]}]
    return {
        "namespace": random.choice((*NAMESPACES, "decent")),
        "selector": random.choice((selector, [], None)),
        "allowed": random.choice((0, 1)),
    }


def _with_disrupted(document: Any) -> Any:
    """Name tasks as disrupted in some budgets. Drawn apart, so that all other draws stay as they were."""
    apart = Random(json.dumps(document))
    if not isinstance(document, dict) or apart.random() < 0.5:
        return document
    odd: tuple[object, ...] = (
        None,
        "mallory/p-0",
        {"mallory/p-0": 1},
        [[]],
        [None, 7],
        ["mallory/p-0"] * 1000,
    )
    names = [f"{space}/{name}-{index}" for space in NAMESPACES for name in "pt" for index in range(4)]
    return {**document, "disrupted": apart.choice((names, apart.sample(names, 3), [], *odd))}


def _performance(random: Random) -> Any:
    return {
        "program": random.choice(PROGRAMS),
        "machineType": random.choice(("big", "small")),
        "runtimeSeconds": random.choice((0.5, 12.5, 1e9)),
        "instructions": random.choice((1.0, 4e10)),
        "coRunners": {"devil": random.choice((0, 1)), "sheep": 3},
        "count": random.choice((1, 2)),
    }


def _namespace(random: Random) -> Any:
    return {"labels": {"team": random.choice(values.LABEL_VALUES)}}


def _workload(random: Random, name: str, order: int) -> dict[str, Any]:
    other = random.choice(WORKLOADS)
    return {
        "name": name,
        "selector": name,
        "order": order,
        "dependencies": [
            {
                "workload": other,
                "selector": other,
                "minBandwidth": random.choice((0, 10**8)),
                "maxNetworkCost": random.choice((0, 30)),
            }
        ],
    }


def _zones(random: Random) -> dict[str, Any]:
    def amounts(most: int) -> dict[str, int]:
        return {"capacity": most, "allocatable": most, "available": random.choice((0, most // 2, most))}

    return {
        "policy": random.choice(("none", "best-effort", "restricted", "single-numa-node")),
        "scope": random.choice(("container", "pod")),
        "maxNUMANodes": 8,
        "updated": 1.7e9,
        "zones": [
            {"id": zone, "costs": {"0": 10, "1": 21}, "resources": {"cpu": amounts(4000)}}
            for zone in range(random.choice((1, 2, 4)))
        ],
        "missing": random.choice(([], ["decent-1"])),
    }


def _rule(random: Random) -> dict[str, Any]:
    return {
        "type": random.choice(("pack", "spread")),
        "hard": random.choice((True, False)),
        "partitions": random.choice((0, 2)),
        "min": random.choice((0, 1, 2)),
        "max": random.choice((0, 2, 4)),
        "factor": random.choice((1, 2)),
    }


_DOCUMENTS: Mapping[str, Callable[[Random], Any]] = {
    APP_GROUP: _app_group,
    NETWORK: _network,
    NUMA: _zones,
    HISTORY: _history,
    GROUP_RECORD: _group,
    TREE_RECORD: _tree,
    BUDGET_RECORD: _budget,
    PERFORMANCE: _performance,
    DEVICE_FEATURES_RECORD: _features,
}

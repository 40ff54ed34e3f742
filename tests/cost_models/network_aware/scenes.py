"""Regions, zones, applications and machines in a few words, as columns for the model and as events for the core."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import MachineColumns, ShapeRow
from cost_models.network_aware.network_overhead import GROUP_LABEL, WORKLOAD_LABEL
from firmament.core.events import ClassDefined, Event, RecordUpserted, TasksBound, TasksSubmitted
from tests.support.core import machine, task_class

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"

Costs = Mapping[str, Mapping[str, int]]


def labels(region: str, zone: str) -> dict[str, str]:
    """Labels of a machine; "" for none."""
    return {key: value for key, value in ((REGION, region), (ZONE, zone)) if value}


def topology(region: Costs, zone: Costs, capacity: Mapping[str, Costs] | None = None) -> bytes:
    """The payload of a NetworkTopology with one list of weights."""
    weights = {"UserDefined": {"region": region, "zone": zone}}
    return json.dumps({"weights": weights, "capacity": capacity or {}}).encode()


def app_group(order: Sequence[str], dependencies: Sequence[tuple[str, str, int, int]]) -> bytes:
    """The payload of an AppGroup: selectors in order, and (source, target, maxNetworkCost, minBandwidth)."""
    return json.dumps(
        {
            "workloads": [
                {
                    "name": f"{name}-deployment",
                    "selector": name,
                    "order": index,
                    "dependencies": [
                        {
                            "workload": f"{to}-deployment",
                            "selector": to,
                            "maxNetworkCost": limit,
                            "minBandwidth": amount,
                        }
                        for source, to, limit, amount in dependencies
                        if source == name
                    ],
                }
                for index, name in enumerate(order, 1)
            ]
        }
    ).encode()


def columns(where: Sequence[tuple[str, str]], records: Mapping[str, Mapping[str, bytes]]) -> MachineColumns:
    """Machines n0, n1, ... in the regions and zones given, with room for everything."""
    count = len(where)
    nothing = np.zeros((count, 1), dtype=np.int64)
    return MachineColumns(
        names=[f"n{index}" for index in range(count)],
        resources=("pods",),
        capacity=nothing + 110,
        free=nothing + 110,
        running=np.zeros(count, dtype=np.int64),
        labels=[labels(*each) for each in where],
        annotations=[{}] * count,
        usage=np.full((count, 1), np.nan),
        usage_time=np.full(count, np.nan),
        records=records,
        now=0.0,
    )


def kind(workload: str, group: str = "app") -> ShapeRow:
    """What the model sees of a workload's pods."""
    return ShapeRow(labels={GROUP_LABEL: group, WORKLOAD_LABEL: workload})


def pair_labels(workload: str, group: str = "app") -> tuple[tuple[str, str], ...]:
    """The same as labels of a class."""
    return ((GROUP_LABEL, group), (WORKLOAD_LABEL, workload))


def records(net: bytes, app: bytes) -> list[Event]:
    """Both records under the names that the model looks for."""
    return [
        RecordUpserted("NetworkTopology", "default/nt-default", net),
        RecordUpserted("AppGroup", "default/app", app),
    ]


def machines(where: Sequence[tuple[str, str]], cpu: int = 4000) -> list[Event]:
    """Machines n0, n1, ... of ``cpu`` milli-cores."""
    return [machine(f"n{index}", cpu=cpu, labels=labels(*each)) for index, each in enumerate(where)]


def waiting(number: int, workload: str, count: int, cpu: int = 500) -> list[Event]:
    """``count`` pods of a workload, as class ``number``; uids are WORKLOAD-INDEX."""
    uids = tuple(f"{workload}-{index}" for index in range(count))
    return [ClassDefined(number, task_class(cpu, labels=pair_labels(workload))), TasksSubmitted(number, uids)]


def running(number: int, workload: str, on: Sequence[str], cpu: int = 500) -> list[Event]:
    """A pod of a workload on each of the machines; uids are old-WORKLOAD-INDEX."""
    events: list[Event] = [ClassDefined(number, task_class(cpu, labels=pair_labels(workload)))]
    return [
        *events,
        *(TasksBound(name, number, (f"old-{workload}-{index}",)) for index, name in enumerate(on)),
    ]

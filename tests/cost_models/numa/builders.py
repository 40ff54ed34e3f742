"""Short builders of machines with zones, and of tasks with containers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cost_models.interface import ContainerRow, MachineColumns, ShapeBatch, ShapeRow
from firmament.core.events import MachineUpserted, RecordUpserted
from firmament.core.model import Container, Machine, TaskClass

GIB = 2**30
KIND = "NodeResourceTopology"

Amounts = Mapping[str, int]


def zone(
    number: int, amounts: Amounts, costs: Mapping[int, int] | None = None, **kinds: Amounts
) -> dict[str, Any]:
    """A zone with what is available, which is also what there is unless ``capacity`` or ``allocatable`` say more."""
    resources = {
        name: {"available": amount, **{kind: given[name] for kind, given in kinds.items() if name in given}}
        for name, amount in amounts.items()
    }
    return {
        "id": number,
        "costs": {str(other): cost for other, cost in (costs or {}).items()},
        "resources": resources,
    }


def payload(
    *zones: Mapping[str, Any], policy: str = "single-numa-node", scope: str = "container", **more: Any
) -> bytes:
    """A record's payload."""
    return json.dumps({"policy": policy, "scope": scope, "zones": list(zones), **more}).encode()


def columns(records: Mapping[str, bytes], capacity: Amounts, *, now: float = 0.0) -> MachineColumns:
    """Empty machines of one capacity, each with its record."""
    names = tuple(records)
    resources = tuple(dict.fromkeys(["pods", "cpu", "memory", *capacity]))
    row = [{"pods": 110, **capacity}.get(name, 0) for name in resources]
    amounts = np.tile(np.array(row, dtype=np.int64), (len(names), 1))
    return MachineColumns(
        names=names,
        resources=resources,
        capacity=amounts,
        free=amounts.copy(),
        running=np.zeros(len(names), dtype=np.int64),
        labels=[{}] * len(names),
        annotations=[{}] * len(names),
        usage=np.full(amounts.shape, np.nan),
        usage_time=np.full(len(names), np.nan),
        records={KIND: {name: value for name, value in records.items() if value}},
        now=now,
    )


def container(name: str, kind: str = "app", **amounts: int) -> ContainerRow:
    """A container; ``cpu`` in milli-cores, ``gpu`` stands for example.com/gpu."""
    return ContainerRow(name, kind, pairs(amounts))


def pairs(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    """Requests in order of names."""
    return tuple(
        sorted(("example.com/gpu" if name == "gpu" else name, amount) for name, amount in amounts.items())
    )


def shape(*containers: ContainerRow, qos: str = "Guaranteed", **more: Any) -> ShapeRow:
    """What a model sees of a task with ``containers``."""
    return ShapeRow(containers=containers, qos=qos, **more)


def batch(rows: Sequence[ShapeRow], resources: Sequence[str]) -> ShapeBatch:
    """One task of each shape. Requests are the sums over the containers."""
    requests = np.zeros((len(rows), len(resources)), dtype=np.int64)
    for index, row in enumerate(rows):
        for each in row.containers:
            for name, amount in each.requests:
                if name in resources:
                    requests[index, list(resources).index(name)] += amount
    return ShapeBatch(requests=requests, counts=np.ones(len(rows), dtype=np.int64), rows=rows)


def machine_events(name: str, record: bytes, **allocatable: int) -> list[Any]:
    """A machine and its record."""
    amounts = {"pods": 110, **dict(pairs(allocatable))}
    return [MachineUpserted(Machine(name, amounts)), RecordUpserted(KIND, name, record)]


def task_class(*containers: Container, qos: str = "Guaranteed", **more: Any) -> TaskClass:
    """A class whose tasks have ``containers``; its requests are their sum, over app containers."""
    total: dict[str, int] = {}
    for each in containers:
        for resource, amount in each.requests:
            total[resource] = total.get(resource, 0) + (amount if each.kind == "app" else 0)
    return TaskClass(requests=tuple(sorted(total.items())), containers=containers, qos=qos, **more)


def asks(name: str, kind: str = "app", **amounts: int) -> Container:
    """A container of a class."""
    return Container(name, kind, pairs(amounts))

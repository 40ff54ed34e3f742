"""Records of ``network_overhead``: applications, and the cost of traffic between regions and zones.

A record of kind ``AppGroup`` is named NAMESPACE/NAME; ``order`` is the position at which a workload is scheduled,
``minBandwidth`` in bits per second; a dependency without ``selector`` means the workload of that name:

    {"workloads": [{"name": "p1", "selector": "p1", "order": 1, "dependencies":
                    [{"workload": "p5", "selector": "p5", "minBandwidth": 100000000, "maxNetworkCost": 30}]}]}

A record of kind ``NetworkTopology``, named alike, has costs by list, level, origin and destination, and capacities in
bits per second:

    {"weights": {"UserDefined": {"region": {"r1": {"r2": 20}}, "zone": {"z1": {"z2": 5}}}},
     "capacity": {"region": {"r1": {"r2": 1000000000}}, "zone": {}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from cost_models.api.parsed_records import BadRecordError, check_whole, parse_object

APP_GROUP, TOPOLOGY = "AppGroup", "NetworkTopology"
REGION, ZONE = "region", "zone"
LARGEST = 2**53

Pairs: TypeAlias = Mapping[str, Mapping[str, int]]


class DependencyRow(NamedTuple):
    """One dependency: selectors of both ends, the limit of its network cost, and bits per second per pair of tasks."""

    workload: str
    dependency: str
    limit: int
    bandwidth: int


@dataclass(frozen=True, slots=True)
class AppGroupRecord:
    """An application: the position of each workload, by selector, and all dependencies in declared order."""

    order: Mapping[str, int]
    dependencies: tuple[DependencyRow, ...]


@dataclass(frozen=True, slots=True)
class TopologyRecord:
    """Costs by list and level, capacities by level."""

    weights: Mapping[str, Mapping[str, Pairs]] = field(default_factory=dict)
    capacity: Mapping[str, Pairs] = field(default_factory=dict)


def parse_app_group(payload: bytes) -> AppGroupRecord:
    """Read an AppGroup; raises ``BadRecordError``."""
    entry = parse_object(payload)
    workloads = [_mapping(each, "workloads") for each in _list(entry, "workloads")]
    selector_of: dict[str, str] = {}
    order: dict[str, int] = {}
    for index, workload in enumerate(workloads, 1):
        selector = _text(workload, "selector") or _text(workload, "name")
        if not selector:
            raise BadRecordError("workloads: an entry has neither name nor selector")
        selector_of[_text(workload, "name") or selector] = selector
        order[selector] = _count(workload, "order", index)
    dependencies = []
    for workload in workloads:
        selector = _text(workload, "selector") or _text(workload, "name")
        for each in _list(workload, "dependencies"):
            found = _mapping(each, "dependencies")
            name = _text(found, "workload")
            dependencies.append(
                DependencyRow(
                    selector,
                    _text(found, "selector") or selector_of.get(name, name),
                    _count(found, "maxNetworkCost", 0),
                    _count(found, "minBandwidth", 0),
                )
            )
    return AppGroupRecord(order, tuple(dependencies))


def parse_topology(payload: bytes) -> TopologyRecord:
    """Read a NetworkTopology; raises ``BadRecordError``."""
    entry = parse_object(payload)
    weights = _mapping(entry.get("weights", {}), "weights")
    return TopologyRecord(
        {name: _levels(levels, f"weights.{name}") for name, levels in weights.items()},
        _levels(entry.get("capacity", {}), "capacity"),
    )


def _levels(value: Any, where: str) -> dict[str, Pairs]:
    levels = _mapping(value, where)
    return {level: _pairs(levels.get(level, {}), f"{where}.{level}") for level in (REGION, ZONE)}


def _pairs(value: Any, where: str) -> Pairs:
    return {
        origin: {name: _count(destinations, name, 0) for name in _mapping(destinations, f"{where}.{origin}")}
        for origin, destinations in _mapping(value, where).items()
    }


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadRecordError(f"{where}: {value!r} is not a JSON object")
    return value


def _list(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRecordError(f"{name}: {value!r} is not a list")
    return value


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise BadRecordError(f"{name}: {value!r} is not a text")
    return value


def _count(entry: Mapping[str, Any], name: str, default: int) -> int:
    value = entry.get(name, default)
    return check_whole(f"{name}: {value!r}", value, 0, LARGEST)

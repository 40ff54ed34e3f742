"""Records of ``network_overhead``: applications, and what it costs to talk between regions and zones.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from cost_models.api.parsed_records import BadRecordError, RecordParser, json_object, whole

MODEL_NAME = "network_overhead"
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
    entry = json_object(payload)
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
    entry = json_object(payload)
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
    return whole(f"{name}: {value!r}", value, 0, LARGEST)


# --- Finds the records that the arguments name.


@dataclass(frozen=True, slots=True)
class NetworkRecords:
    """``topology``: None if there is none; ``groups``: by name, in that order; ``notes``: what is wrong or missed."""

    topology: TopologyRecord | None
    groups: Mapping[str, AppGroupRecord]
    notes: tuple[str, ...]


class NetworkReader:
    """Reads the records, each payload once as long as it stays as it is.

    ``namespaces``: where objects are looked for; ``topology``: the name of the NetworkTopology, ``weights``: of the
    list of its costs that counts.
    """

    def __init__(self, namespaces: Sequence[str], topology: str, weights: str) -> None:
        self._namespaces, self._topology, self.weights = namespaces, topology, weights
        self._groups = RecordParser(parse_app_group)
        self._topologies = RecordParser(parse_topology)

    def read(self, records: Mapping[str, Mapping[str, bytes]]) -> NetworkRecords:
        """What is known; of objects with one name in several namespaces that in the first one counts."""
        applications = self._groups.read(records.get(APP_GROUP, {}))
        topologies = self._topologies.read(records.get(TOPOLOGY, {}))
        named = [f"{namespace}/{self._topology}" for namespace in self._namespaces]
        topology = next((topologies.good.get(name) for name in named if name in topologies.payloads), None)
        groups: dict[str, AppGroupRecord] = {}
        for namespace in self._namespaces:
            prefix = f"{namespace}/"
            for name, record in applications.good.items():
                if name.startswith(prefix):
                    groups.setdefault(name[len(prefix) :], record)
        faults = [(APP_GROUP, *each) for each in sorted(applications.faults.items())]
        faults += [(TOPOLOGY, *each) for each in sorted(topologies.faults.items())]
        notes = [f"{MODEL_NAME}: {kind} {name}: {fault}; it is ignored" for kind, name, fault in faults]
        what = f"{MODEL_NAME}: NetworkTopology {self._topology}"
        if groups and topology is None:
            where = ", ".join(self._namespaces)
            notes.append(f"{what}: not found in namespace {where}; all machines are alike")
        elif topology is not None and self.weights not in topology.weights:
            notes.append(f"{what}: no weights named {self.weights}; all costs are unknown")
        return NetworkRecords(topology, dict(sorted(groups.items())), tuple(notes))

"""AppGroups and NetworkTopologies of an input: their order, their records, and what is wrong with them.

Offline there is no former state that could stay in force: of an object with faults counts what can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.app_network.costs import domain_costs
from poseidon.app_network.spec.app_groups import read_app_group
from poseidon.app_network.spec.keys import APP_GROUP_KIND, TOPOLOGY_KIND, domain_of
from poseidon.app_network.spec.netperf import DEFAULT_PERCENTILE, read_measurements
from poseidon.app_network.spec.ordering import app_group_payload, topology_order
from poseidon.app_network.spec.topologies import read_topology
from poseidon.kube.api.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.pods.tasks import qualified_name
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.app_network.spec.topologies import Levels
    from poseidon.kube.api.core import KubeStruct, Node


@dataclass(frozen=True, slots=True)
class OrderedWorkload:
    """A workload by its selector, and its position, from 1; lower ones are scheduled earlier."""

    workload: str
    index: int


@dataclass(frozen=True, slots=True)
class OrderedAppGroup:
    """An AppGroup (``namespace/name``) and its workloads in topology order."""

    app_group: str
    workloads: tuple[OrderedWorkload, ...]


@dataclass(frozen=True, slots=True)
class Applications:
    """What an input says of applications and networks; ``warnings`` are for people."""

    app_groups: tuple[OrderedAppGroup, ...]
    records: tuple[pb.Record, ...]
    warnings: tuple[str, ...]


def read_applications(
    objects: Sequence[KubeStruct], nodes: Iterable[Node], percentile: str = DEFAULT_PERCENTILE
) -> Applications:
    """Read those of ``objects`` that are about applications and networks."""
    reading = _Reading(percentile)
    config_maps = {qualified_name(each.metadata): each for each in objects if isinstance(each, ConfigMap)}
    for each in objects:
        if isinstance(each, AppGroup):
            reading.app_group(each)
        elif isinstance(each, NetworkTopology):
            reading.topology(each, config_maps, nodes)
    groups = sorted(reading.app_groups, key=lambda group: group.app_group)
    return Applications(tuple(groups), tuple(reading.records), tuple(reading.warnings))


class _Reading:
    def __init__(self, percentile: str) -> None:
        self._percentile = percentile
        self.app_groups: list[OrderedAppGroup] = []
        self.records: list[pb.Record] = []
        self.warnings: list[str] = []

    def app_group(self, found: AppGroup) -> None:
        """Order an application."""
        name = qualified_name(found.metadata)
        spec, defects = read_app_group(found.spec)
        order = topology_order(spec)
        problems = [*map(str, defects), *([order.problem] if order.problem else [])]
        self.warnings.extend(f"{APP_GROUP_KIND} {name}: {problem}" for problem in problems)
        selectors = {other.name: other.selector for each in spec.workloads for other in each.dependencies}
        selectors.update((each.name, each.selector) for each in spec.workloads)
        workloads = (OrderedWorkload(selectors[each], index) for each, index in order.positions.items())
        self.app_groups.append(OrderedAppGroup(name, tuple(workloads)))
        self._record(APP_GROUP_KIND, name, app_group_payload(spec, order))

    def topology(
        self, found: NetworkTopology, config_maps: Mapping[str, ConfigMap], nodes: Iterable[Node]
    ) -> None:
        """Read costs, and compute those that follow from measurements."""
        name = qualified_name(found.metadata)
        spec, defects = read_topology(found.spec)
        self.warnings.extend(f"{TOPOLOGY_KIND} {name}: {defect}" for defect in defects)
        measured: Levels | None = None
        config_map = config_maps.get(f"{found.metadata.namespace or 'default'}/{spec.config_map}")
        if config_map is not None:
            latencies, faults = read_measurements(config_map.data, self._percentile)
            where = qualified_name(config_map.metadata)
            self.warnings.extend(f"ConfigMap {where}: {fault}; it is ignored" for fault in faults)
            if latencies:
                domains = {node.metadata.name: domain_of(node.metadata.labels) for node in nodes}
                measured = domain_costs(latencies, domains)
        self._record(TOPOLOGY_KIND, name, spec.payload(measured))

    def _record(self, kind: str, name: str, payload: bytes) -> None:
        self.records.append(pb.Record(key=pb.RecordKey(kind=kind, name=name), payload=payload))

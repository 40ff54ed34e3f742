"""Reads an input's AppGroups and NetworkTopologies: the order of workloads, and the faults of these objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from poseidon.app_network.last_good_specs import LAST_GOOD
from poseidon.app_network.spec.app_groups import read_app_group
from poseidon.app_network.spec.keys import APP_GROUP_KIND, TOPOLOGY_KIND
from poseidon.app_network.spec.netperf import DEFAULT_PERCENTILE, read_measurements
from poseidon.app_network.spec.ordering import topology_order
from poseidon.app_network.spec.topologies import read_topology
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.parsing.defects import Defect
from poseidon.pods.tasks import get_qualified_name


@dataclass(frozen=True, slots=True)
class OrderedWorkload:
    """A workload's selector and its position in its AppGroup.

    Workloads with lower positions (from 1) are scheduled earlier.
    """

    workload: str
    index: int


@dataclass(frozen=True, slots=True)
class OrderedAppGroup:
    """An AppGroup (``namespace/name``) with its workloads in topology order."""

    app_group: str
    workloads: tuple[OrderedWorkload, ...]


@dataclass(frozen=True, slots=True)
class Applications:
    """AppGroups and NetworkTopologies of an input, and warnings about them for people."""

    app_groups: tuple[OrderedAppGroup, ...]
    warnings: tuple[str, ...]


def read_applications(objects: Sequence[KubeStruct], percentile: str = DEFAULT_PERCENTILE) -> Applications:
    """Return the applications and networks that ``objects`` describe; warnings name their faults."""
    config_maps = {get_qualified_name(each.metadata): each for each in objects if isinstance(each, ConfigMap)}
    groups: list[OrderedAppGroup] = []
    warnings: list[str] = []
    for each in objects:
        if isinstance(each, AppGroup):
            groups.append(_read_order(each, warnings))
        elif isinstance(each, NetworkTopology):
            warnings += _faults(each, config_maps, percentile)
    return Applications(tuple(sorted(groups, key=lambda group: group.app_group)), tuple(warnings))


def _read_order(found: AppGroup, warnings: list[str]) -> OrderedAppGroup:
    """Return the workloads of an AppGroup in order; unreadable workloads are left out, with a warning."""
    name = get_qualified_name(found.metadata)
    spec, defects = read_app_group(found.spec)
    order = topology_order(spec)
    warnings += _invalid(APP_GROUP_KIND, found, defects)
    if order.problem:
        warnings.append(f"{APP_GROUP_KIND} {name}: {order.problem}")
    selectors = {other.name: other.selector for each in spec.workloads for other in each.dependencies}
    selectors.update((each.name, each.selector) for each in spec.workloads)
    workloads = (OrderedWorkload(selectors[each], index) for each, index in order.positions.items())
    return OrderedAppGroup(name, tuple(workloads))


def _faults(found: NetworkTopology, config_maps: Mapping[str, ConfigMap], percentile: str) -> Iterator[str]:
    """Yield the faults of a NetworkTopology and of its measured latencies."""
    spec, defects = read_topology(found.spec)
    yield from _invalid(TOPOLOGY_KIND, found, defects)
    config_map = config_maps.get(f"{found.metadata.namespace or 'default'}/{spec.config_map}")
    if config_map is not None:
        where = get_qualified_name(config_map.metadata)
        for fault in read_measurements(config_map.data, percentile)[1]:
            yield f"ConfigMap {where}: {fault}; no costs follow from it"


def _invalid(kind: str, found: AppGroup | NetworkTopology, defects: Iterable[Defect]) -> Iterator[str]:
    former = LAST_GOOD in found.metadata.annotations
    state = "the last good spec stays in force" if former else "nothing is in force"
    return (f"{kind} {get_qualified_name(found.metadata)}: {defect}; {state}" for defect in defects)

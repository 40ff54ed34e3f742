"""Keeps the NetworkTopologies: their specs in force, their records for the solver, and their patches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from poseidon.app_network.last_good_specs import GoodStates, Kept
from poseidon.app_network.proposals import MOST_SHOWN, Finding, Notice, Proposal, judge_validity, propose
from poseidon.app_network.spec.keys import KEY_OF_LEVEL, NETPERF_COSTS, REGION, TOPOLOGY_KIND, ZONE, ObjectKey
from poseidon.app_network.spec.netperf import domain_costs, read_measurements
from poseidon.app_network.spec.topologies import NO_PAIRS, Levels, TopologySpec, read_topology
from poseidon.app_network.used_bandwidth import Members
from poseidon.kube.api.event_reasons import ConditionType, EventReason
from poseidon.kube.api.other_projects.app_network import NetworkTopology
from poseidon.kube.parsing.defects import list_defects

MapName: TypeAlias = tuple[str, str]
"""The namespace and name of a ConfigMap."""


class Topologies(GoodStates[NetworkTopology, TopologySpec]):
    """All NetworkTopologies, and the measurements to which they refer, of which those of one ``percentile`` count."""

    def __init__(self, percentile: str) -> None:
        super().__init__(TOPOLOGY_KIND, read_topology)
        self._percentile = percentile
        self._config_maps: dict[MapName, Mapping[str, str]] = {}
        self._measured: dict[str, Levels] = {}
        self._looked: dict[str, tuple[Mapping[str, str], int, Finding]] = {}

    def config_map_changed(self, name: MapName, data: Mapping[str, str] | None) -> Iterator[ObjectKey]:
        """Update a ConfigMap with measurements, None if it is missing; return keys of objects that refer to it."""
        if data is None:
            self._config_maps.pop(name, None)
        else:
            self._config_maps[name] = data
        return (key for key in self if self._config_map_of(key) == name)

    def list_config_maps(self) -> frozenset[MapName]:
        """Return the names of the ConfigMaps to which NetworkTopologies refer."""
        wanted = (self._config_map_of(key) for key in self)
        return frozenset(name for name in wanted if name is not None)

    def remove(self, uid: str) -> ObjectKey | None:
        """Remove an object and its costs; return the object's key, None if the object is unknown."""
        self._measured.pop(uid, None)
        self._looked.pop(uid, None)
        return super().remove(uid)

    def payload(self, key: ObjectKey, members: Members) -> bytes | None:
        """Return the payload of a NetworkTopology's record, None if the object has no spec in force."""
        kept = self.get(key)
        if kept is None or kept.spec is None:
            return None
        self._measure(kept, members)
        return kept.spec.payload(self._measured.get(kept.uid))

    def reconcile(self, key: ObjectKey, members: Members, now: str) -> tuple[Proposal, list[Notice]] | None:
        """Return the patch for a NetworkTopology, and messages to send as events; None if the object does not exist."""
        kept = self.get(key)
        if kept is None:
            return None
        in_force = kept.spec is not None
        findings = [judge_validity(kept.defects, in_force=in_force), self._measure(kept, members)]
        allocated = members.sum_allocated()
        costs = self._costs(kept)
        status: dict[str, Any] = {"nodeCount": len(members.domains)}
        if kept.spec is not None:
            status["links"] = _links(kept.spec.capacity, allocated)
        spec: dict[str, Any] | None = None
        # People have to correct a spec with defects, so no costs are written into it.
        if costs is not None and kept.spec is not None and not kept.defects:
            written = kept.spec.weights.get(NETPERF_COSTS)
            former = kept.status.get("weightCalculationTime")
            status["weightCalculationTime"] = former if former and written == costs else now
            spec = {"weights": _merge_costs(kept.object.spec, costs, kept.spec.capacity, allocated)}
        return propose(kept, findings, status, now, spec)

    def _config_map_of(self, key: ObjectKey) -> MapName | None:
        spec = self.get_last_good(key)
        return (key.namespace, spec.config_map) if spec is not None and spec.config_map else None

    def _costs(self, kept: Kept[NetworkTopology, TopologySpec]) -> Levels | None:
        """Return the costs in force: those that this process has computed, else those of the spec.

        None if there are no costs of either kind.
        """
        measured = self._measured.get(kept.uid)
        if measured is None and kept.spec is not None:
            return kept.spec.weights.get(NETPERF_COSTS)
        return measured

    def _measure(self, kept: Kept[NetworkTopology, TopologySpec], members: Members) -> Finding:
        """Compute the costs from measurements unless these have defects; return a condition with the outcome."""
        config_map = self._config_map_of(kept.key)
        if config_map is None:
            return Finding(
                ConditionType.MEASURED, False, "NotMeasured", "spec.configmapName names no ConfigMap"
            )
        where = f"ConfigMap {config_map[0]}/{config_map[1]}"
        data = self._config_maps.get(config_map)
        if data is None:
            return Finding(ConditionType.MEASURED, False, "NotMeasured", f"{where} is not there")
        looked = self._looked.get(kept.uid)
        if looked is not None and looked[0] is data and looked[1] == members.version:
            return looked[2]
        finding = self._compute(kept.uid, where, data, members)
        self._looked[kept.uid] = (data, members.version, finding)
        return finding

    def _compute(self, uid: str, where: str, data: Mapping[str, str], members: Members) -> Finding:
        latencies, defects = read_measurements(data, self._percentile)
        if defects:
            message = f"{where}: {list_defects(defects, MOST_SHOWN)}; the last good costs stay in force"
            return Finding(
                ConditionType.MEASURED, False, EventReason.INVALID_MEASUREMENTS, message, warns=True
            )
        costs = domain_costs(latencies, members.domains)
        if not any(costs.values()):
            what = f"holds no {self._percentile} latency between nodes of different zones or regions"
            return Finding(ConditionType.MEASURED, False, "NotMeasured", f"{where} {what}")
        self._measured[uid] = costs
        return Finding(
            ConditionType.MEASURED, True, "Computed", f"costs follow from the {self._percentile} of {where}"
        )


def _links(capacity: Levels, allocated: Levels) -> list[dict[str, Any]]:
    """Return one entry for each link that has a stated capacity, or on which pods use bandwidth."""
    links = []
    for level in (REGION, ZONE):
        pairs = {
            (origin, destination)
            for levels in (capacity, allocated)
            for origin, found in levels[level].items()
            for destination in found
        }
        for origin, destination in sorted(pairs):
            link = {"topologyKey": KEY_OF_LEVEL[level], "origin": origin, "destination": destination}
            amounts = _amounts(level, origin, destination, capacity, allocated)
            if "bandwidthCapacity" in amounts:
                free = int(amounts["bandwidthCapacity"]) - int(amounts["bandwidthAllocated"])
                amounts["bandwidthAllocatable"] = str(max(free, 0))
            links.append(link | amounts)
    return links


def _merge_costs(spec: Any, costs: Levels, capacity: Levels, allocated: Levels) -> list[Any]:
    """Return the lists of weights with the computed list replaced; lists that people have written stay."""
    computed = {"name": NETPERF_COSTS, "topologyList": _topology_list(costs, capacity, allocated)}
    given = spec.get("weights") if isinstance(spec, dict) else None
    lists = list(given) if isinstance(given, list) else []
    for index, each in enumerate(lists):
        if isinstance(each, dict) and each.get("name") == NETPERF_COSTS:
            return [*lists[:index], computed, *lists[index + 1 :]]
    return [*lists, computed]


def _topology_list(costs: Levels, capacity: Levels, allocated: Levels) -> list[dict[str, Any]]:
    topologies = []
    for level in (REGION, ZONE):
        origins = [
            {
                "origin": origin,
                "costList": [
                    {
                        "destination": destination,
                        "networkCost": cost,
                        **_amounts(level, origin, destination, capacity, allocated),
                    }
                    for destination, cost in sorted(found.items())
                ],
            }
            for origin, found in sorted(costs.get(level, NO_PAIRS[level]).items())
        ]
        topologies.append({"topologyKey": KEY_OF_LEVEL[level], "originList": origins})
    return topologies


def _amounts(
    level: str, origin: str, destination: str, capacity: Levels, allocated: Levels
) -> dict[str, str]:
    """Return a link's capacity and used bandwidth as quantities of bits per second."""
    limit = capacity[level].get(origin, {}).get(destination)
    taken = allocated[level].get(origin, {}).get(destination, 0)
    stated = {} if limit is None else {"bandwidthCapacity": str(limit)}
    return {**stated, "bandwidthAllocated": str(taken)}

"""Reads the spec of a NetworkTopology: costs and capacities of links between regions and between zones.

This module reads two sets of field names: those of the CRD (``configmapName``, ``topologyList``, ``originList``,
``costList``) and those of the proposal (``configMapName``, ``costList``, ``originCosts``, ``costs``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from poseidon.app_network.spec.keys import LEVEL_OF_KEY, NETPERF_COSTS, REGION, ZONE
from poseidon.app_network.spec.reading import Object, Reader
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import object_name_fault
from poseidon.kube.parsing.strict_json import compact

Pairs: TypeAlias = Mapping[str, Mapping[str, int]]
"""Figures by origin and destination; the reverse direction is a separate pair."""
Levels: TypeAlias = Mapping[str, Pairs]
"""Figures for pairs of regions and for pairs of zones, under the keys ``region`` and ``zone``."""

NO_PAIRS: Levels = {REGION: {}, ZONE: {}}

_UNUSED_KEYS = frozenset({"topology.kubernetes.io/segment"})
"""Topology keys of the CRD that are ignored without a defect."""


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """The costs and capacities of the links of a network.

    ``config_map``: the name of the ConfigMap with measurements, "" for none. ``weights``: the costs of each list, by
    the list's name. ``capacity``: the bits per second of each link, from the lists that people write.
    """

    config_map: str = ""
    weights: Mapping[str, Levels] = field(default_factory=dict)
    capacity: Levels = field(default_factory=lambda: NO_PAIRS)

    def payload(self, measured: Levels | None) -> bytes:
        """Return the payload of the record; ``measured`` replaces the computed costs that the spec contains."""
        weights = dict(self.weights)
        if measured is not None:
            weights[NETPERF_COSTS] = measured
        return compact({"weights": weights, "capacity": self.capacity, "configmapName": self.config_map})


def read_topology(spec: Any) -> tuple[TopologySpec, tuple[Defect, ...]]:
    """Return the usable content of a spec, and all of its defects; pairs with a defect are left out."""
    reader = Reader()
    given = reader.mapping(spec, "spec", needed=True)
    config_map = reader.text(given, "configmapName", "spec") or reader.text(given, "configMapName", "spec")
    if config_map and object_name_fault(config_map):
        reader.note("spec.configmapName", object_name_fault(config_map))
        config_map = ""
    weights: dict[str, Levels] = {}
    capacity: dict[str, dict[str, dict[str, int]]] = {REGION: {}, ZONE: {}}
    for each, where in reader.items(given.get("weights"), "spec.weights"):
        name = reader.text(each, "name", where, needed=True)
        if not name:
            continue
        if name in weights:
            reader.note(f"{where}.name", f"{name!r} is given twice; the second list is ignored")
            continue
        # The computed list only contains copies of the capacities that people have written.
        limits = capacity if name != NETPERF_COSTS else {REGION: {}, ZONE: {}}
        weights[name] = _read_list(reader, each, where, limits)
    return TopologySpec(config_map, weights, capacity), tuple(reader.defects)


def _read_list(
    reader: Reader, given: Object, path: str, capacity: dict[str, dict[str, dict[str, int]]]
) -> Levels:
    costs: dict[str, dict[str, dict[str, int]]] = {REGION: {}, ZONE: {}}
    for topology, where in _either(reader, given, path, "topologyList", "costList"):
        key = reader.text(topology, "topologyKey", where, needed=True)
        level = LEVEL_OF_KEY.get(key, "")
        if not level:
            if key and key not in _UNUSED_KEYS:
                problem = f"{key!r} is not known and is ignored; use one of {', '.join(LEVEL_OF_KEY)}"
                reader.note(f"{where}.topologyKey", problem)
            continue
        for origin, at in _either(reader, topology, where, "originList", "originCosts"):
            name = reader.text(origin, "origin", at, needed=True)
            for pair, place in _either(reader, origin, at, "costList", "costs"):
                _read_pair(reader, pair, place, name, costs[level], capacity[level])
    return costs


def _read_pair(
    reader: Reader,
    pair: Object,
    path: str,
    origin: str,
    costs: dict[str, dict[str, int]],
    capacity: dict[str, dict[str, int]],
) -> None:
    destination = reader.text(pair, "destination", path, needed=True)
    if not origin or not destination:
        return
    if destination in costs.get(origin, {}):
        reader.note(path, f"{origin} to {destination} is given twice; the second is ignored")
        return
    if pair.get("networkCost") is None:
        reader.note(f"{path}.networkCost", "missing; add it")
    cost = reader.count(pair, "networkCost", path)
    if cost is not None:
        costs.setdefault(origin, {})[destination] = cost
    limit = reader.bandwidth(pair, "bandwidthCapacity", path)
    if limit is not None:
        capacity.setdefault(origin, {})[destination] = limit


def _either(reader: Reader, given: Object, path: str, crd: str, proposal: str) -> list[tuple[Object, str]]:
    """Return the entries of a list that has one of two names, each with its path."""
    key = crd if given.get(crd) is not None else proposal
    if given.get(key) is None:
        reader.note(f"{path}.{crd}", "missing; add it")
    return list(reader.items(given.get(key), f"{path}.{key}"))

"""Finds and reads the records of ``network_overhead``, each payload once as long as it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from cost_models.api.parsed_records import ParsedRecords
from cost_models.network_aware.arguments import MODEL_NAME, NetworkOptions
from cost_models.network_aware.records import (
    APP_GROUP,
    TOPOLOGY,
    AppGroupRecord,
    TopologyRecord,
    parse_app_group,
    parse_topology,
)

Records: TypeAlias = Mapping[str, Mapping[str, bytes]]


class NetworkReader:
    """Remembers what it has parsed. Equal records give equal answers."""

    def __init__(self) -> None:
        self._groups = ParsedRecords(parse_app_group)
        self._topologies = ParsedRecords(parse_topology)

    def topology(self, records: Records, options: NetworkOptions) -> TopologyRecord | None:
        """Return the NetworkTopology that the arguments name, from the first of the namespaces that has it."""
        self._topologies.read(records.get(TOPOLOGY, {}))
        for namespace in options.namespaces:
            name = f"{namespace}/{options.topology_name}"
            if name in self._topologies.good or name in self._topologies.faults:
                return self._topologies.good.get(name)
        return None

    def app_groups(self, records: Records, options: NetworkOptions) -> dict[str, AppGroupRecord]:
        """Return AppGroups by name, each from the first of the namespaces that has it; in order of name."""
        self._groups.read(records.get(APP_GROUP, {}))
        found: dict[str, AppGroupRecord] = {}
        for namespace in options.namespaces:
            prefix = f"{namespace}/"
            for name, record in self._groups.good.items():
                if name.startswith(prefix):
                    found.setdefault(name[len(prefix) :], record)
        return dict(sorted(found.items()))

    def notes(self, records: Records, options: NetworkOptions) -> tuple[str, ...]:
        """Return what is wrong with records, and which object is missed, a line each."""
        topology = self.topology(records, options)
        groups = self.app_groups(records, options)
        faults = [(APP_GROUP, *each) for each in sorted(self._groups.faults.items())]
        faults += [(TOPOLOGY, *each) for each in sorted(self._topologies.faults.items())]
        notes = [f"{MODEL_NAME}: {kind} {name}: {fault}; it is ignored" for kind, name, fault in faults]
        named = f"NetworkTopology {options.topology_name}"
        if groups and topology is None:
            where = ", ".join(options.namespaces)
            notes.append(f"{MODEL_NAME}: {named}: not found in namespace {where}; all machines are alike")
        elif topology is not None and options.weights_name not in topology.weights:
            notes.append(
                f"{MODEL_NAME}: {named}: no weights named {options.weights_name}; all costs are unknown"
            )
        return tuple(notes)

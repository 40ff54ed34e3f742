"""Keeps applications and networks without I/O, and returns their records and the patches for their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from poseidon.app_network.app_groups import AppGroups
from poseidon.app_network.options import NetworkArguments, NetworkOptions
from poseidon.app_network.proposals import Notice, Proposal
from poseidon.app_network.spec.keys import APP_GROUP_KIND, TOPOLOGY_KIND, ObjectKey
from poseidon.app_network.topologies import MapName, Topologies
from poseidon.app_network.used_bandwidth import Demand, Members
from poseidon.kube.api.metadata import format_time
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine


class NetworkState:
    """All AppGroups and NetworkTopologies, and the patches for them; ``members`` keeps their pods and nodes.

    Callers may pass the same change several times. All data can be read from the API server again. ``quarantine``
    records objects that cause an error. Not thread-safe.
    """

    def __init__(
        self, options: NetworkOptions, arguments: NetworkArguments, quarantine: Quarantine | None = None
    ) -> None:
        self._quarantine = quarantine if quarantine is not None else Quarantine()
        self._namespaces = arguments.namespaces
        self.members = Members()
        self._app_groups = AppGroups()
        self.topologies = Topologies(options.percentile_by(arguments))
        self._of_kind: dict[str, AppGroups | Topologies] = {
            APP_GROUP_KIND: self._app_groups,
            TOPOLOGY_KIND: self.topologies,
        }
        self._dirty: set[ObjectKey] = set()
        self._records: dict[ObjectKey, None] = {}
        self._version = 0

    # --- changes of objects --------------------------------------------------------------------------------

    def app_groups_changed(self, changes: Sequence[Change[AppGroup]]) -> None:
        """Store changed AppGroups, and the bandwidth that their workloads need between each other."""
        for change in changes:
            found, groups = change.object, self._app_groups
            key = groups.put(found) if found is not None else groups.remove(change.uid)
            if key is not None:
                self._mark(key)
                self.members.set_demands(key.name, self._demands(key.name))

    def topologies_changed(self, changes: Sequence[Change[NetworkTopology]]) -> None:
        """Store changed NetworkTopologies, whose records and statuses may have to be written again."""
        for change in changes:
            found, known = change.object, self.topologies
            key = known.put(found) if found is not None else known.remove(change.uid)
            if key is not None:
                self._mark(key)

    def config_map_changed(self, name: MapName, data: Mapping[str, str] | None) -> None:
        """Update a wanted ConfigMap; ``data`` is None if it does not exist."""
        for key in self.topologies.config_map_changed(name, data):
            self._mark(key)

    def note_object(self, found: AppGroup | NetworkTopology) -> None:
        """Update an object with the API server's answer to a read or write."""
        if isinstance(found, AppGroup):
            self._mark(self._app_groups.put(found))
        else:
            self._mark(self.topologies.put(found))

    # --- records and statuses ------------------------------------------------------------------------------

    def take_records(self) -> list[tuple[str, str, bytes | None]]:
        """Return kind, name and payload of the records that have changed since the last call; None removes a record."""
        self._spread()
        found = []
        records, self._records = self._records, {}
        for key in records:
            address = f"{key.namespace}/{key.name}"
            with self._quarantine.attempt(f"records of {key.kind}", address):
                found.append((key.kind, address, self._of_kind[key.kind].payload(key, self.members)))
        return found

    def take_dirty(self) -> list[ObjectKey]:
        """Return the objects whose status may have to be written, sorted, each only once."""
        self._spread()
        dirty, self._dirty = self._dirty, set()
        return sorted(dirty)

    def mark_dirty(self, key: ObjectKey) -> None:
        """Mark an object to be compared again later."""
        self._dirty.add(key)

    def reconcile(self, key: ObjectKey, now: float) -> tuple[Proposal, list[Notice]] | None:
        """Return the patch for an object, and messages for events; None if it does not exist or causes an error."""
        with self._quarantine.attempt(f"statuses of {key.kind}", f"{key.namespace}/{key.name}"):
            return self._of_kind[key.kind].reconcile(key, self.members, format_time(now))
        return None

    def _demands(self, app_group: str) -> tuple[Demand, ...]:
        """Return the demands of the AppGroup with this name in the first of the configured namespaces that has one."""
        for namespace in self._namespaces:
            demands = self._app_groups.demands(ObjectKey(APP_GROUP_KIND, namespace, app_group))
            if demands is not None:
                return demands
        return ()

    def _mark(self, key: ObjectKey) -> None:
        self._dirty.add(key)
        self._records[key] = None

    def _spread(self) -> None:
        """Mark the objects that are affected by changes of pods and nodes."""
        for changed in self.members.take_changed():
            self._dirty.update(self._app_groups.list_named(changed))
        if self.members.take_moved():
            self._dirty.update(self.topologies)
        if self.members.version != self._version:
            self._version = self.members.version
            for key in self.topologies:
                self._mark(key)

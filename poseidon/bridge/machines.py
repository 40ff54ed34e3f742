"""The nodes of the cluster, and which of them the solver has been told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


class Machines:
    """Machines by name, with the changes that the current stream has not been told yet.

    A node is identified by its uid, so that the late end of an earlier node does not remove its namesake.
    """

    def __init__(self) -> None:
        self._machines: dict[str, pb.Machine] = {}
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._told: set[str] = set()
        self._changed: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._machines)

    def __contains__(self, name: str) -> bool:
        return name in self._machines

    def get(self, name: str) -> pb.Machine | None:
        """Return a machine as it is now, or None. A machine that has changed is another object."""
        return self._machines.get(name)

    def put(self, uid: str, machine: pb.Machine) -> bool:
        """Take a node as it is now. Returns whether its name was not known before."""
        name = machine.name
        known = self._machines.get(name)
        self._names[uid] = name
        self._uids[name] = uid
        if known != machine:
            self._machines[name] = machine
            self._changed[name] = None
        return known is None

    def remove(self, uid: str) -> str:
        """Forget a node. Returns its name, or "" when it was unknown or a namesake has taken its place."""
        name = self._names.pop(uid, "")
        if self._uids.get(name) != uid:
            return ""
        del self._uids[name], self._machines[name]
        self._changed[name] = None
        return name

    def forget_told(self) -> None:
        """Begin a stream: its solver knows no machine."""
        self._told.clear()
        self._changed = dict.fromkeys(self._machines)

    def take_removed(self) -> list[str]:
        """Return the names that the solver knows and that are gone, once."""
        removed = [name for name in self._changed if name not in self._machines]
        for name in removed:
            del self._changed[name]
        gone = [name for name in removed if name in self._told]
        self._told.difference_update(gone)
        return gone

    def take_changed(self) -> list[pb.Machine]:
        """Return the machines that are new to the solver or have changed, once."""
        changed = [self._machines[name] for name in self._changed if name in self._machines]
        self._told.update(machine.name for machine in changed)
        self._changed = {name: None for name in self._changed if name not in self._machines}
        return changed

"""The namespaces of the cluster, and which of them the solver has been told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.nodes.namespace_records import key, record
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.kube.api.core import Namespace


class Namespaces:
    """Labels of namespaces by name, with the changes that the current stream has not been told yet.

    A namespace is identified by its uid, so that the late end of an earlier one does not remove its namesake.
    """

    def __init__(self) -> None:
        self._records: dict[str, tuple[str, pb.Record]] = {}
        self._names: dict[str, str] = {}
        self._told: set[str] = set()
        self._changed: dict[str, None] = {}

    def put(self, uid: str, namespace: Namespace) -> None:
        """Take a namespace as it is now. One that is being deleted keeps its labels until it is gone."""
        name = namespace.metadata.name
        if not name:
            return
        found = (uid, record(name, namespace.metadata.labels))
        known = self._records.get(name)
        self._names[uid] = name
        self._records[name] = found
        if known is None or known[1] != found[1]:
            self._changed[name] = None

    def remove(self, uid: str) -> None:
        """Forget a namespace; one that is unknown, or that a namesake has replaced, is ignored."""
        name = self._names.pop(uid, "")
        known = self._records.get(name)
        if known is not None and known[0] == uid:
            del self._records[name]
            self._changed[name] = None

    def forget_told(self) -> None:
        """Begin a stream: its solver knows no namespace."""
        self._told.clear()
        self._changed = dict.fromkeys(self._records)

    def take(self) -> list[pb.Event]:
        """Return the records that are new to the solver, have changed, or are gone, once."""
        events = []
        for name in self._changed:
            known = self._records.get(name)
            if known is not None:
                self._told.add(name)
                events.append(pb.Event(record=known[1]))
            elif name in self._told:
                self._told.discard(name)
                events.append(pb.Event(record_removed=key(name)))
        self._changed.clear()
        return events

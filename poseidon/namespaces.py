"""Makes records of the cluster's namespaces with their labels, to which selectors of pods may refer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from poseidon.custom_records import CustomRecords, NameIndex
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.resource import Change

KIND = "Namespace"
NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that the API server gives to every namespace, with the namespace's name as the value."""


def labels_of(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a namespace, including the label that every namespace has."""
    return {**labels, NAME_LABEL: name}


def payload(name: str, labels: Mapping[str, str]) -> bytes:
    """Return the payload of a namespace's record; equal labels give equal payloads."""
    return json.dumps({"labels": labels_of(name, labels)}, sort_keys=True).encode()


class Namespaces:
    """A handler of changes of namespaces, which keeps the labels of namespaces in ``records``."""

    def __init__(self, records: CustomRecords) -> None:
        self._names = NameIndex()
        self._records = records

    def take_changes(self, changes: Sequence[Change[Namespace]]) -> None:
        """Handle changes of namespaces; a namespace that is being deleted keeps its labels until it is removed."""
        for uid, namespace in changes:
            if namespace is None:
                name = self._names.remove(
                    uid
                )  # "": the namespace is unknown, or a namespace with the same name has replaced it
                payload_now = None
            else:
                name = namespace.metadata.name
                payload_now = payload(name, namespace.metadata.labels)
                if name:
                    self._names.put(uid, name)
            if name:
                self._records.set_record(KIND, name, payload_now)

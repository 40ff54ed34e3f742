"""The namespaces of the cluster as records: their labels, which selectors of pods may refer to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from poseidon.custom_records import CustomRecords
from poseidon.outbox import NameIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.kube.api.core import Namespace
    from protos.firmament.v1 import scheduler_pb2 as pb

KIND = "Namespace"
NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server gives every namespace, with its name as the value."""


def labels_of(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a namespace, with the one that every namespace has."""
    return {**labels, NAME_LABEL: name}


def payload(name: str, labels: Mapping[str, str]) -> bytes:
    """Return the payload of a namespace's record; equal labels make equal ones."""
    return json.dumps({"labels": labels_of(name, labels)}, sort_keys=True).encode()


class Namespaces:
    """Labels of namespaces by name, with the changes that the current stream has not been told yet."""

    def __init__(self) -> None:
        self._names = NameIndex()
        self._records = CustomRecords()

    def put(self, uid: str, namespace: Namespace) -> None:
        """Take a namespace as it is now. One that is being deleted keeps its labels until it is gone."""
        name = namespace.metadata.name
        if name:
            self._names.put(uid, name)
            self._records.tell(KIND, name, payload(name, namespace.metadata.labels))

    def remove(self, uid: str) -> None:
        """Forget a namespace; one that is unknown, or that a namesake has replaced, is ignored."""
        name = self._names.remove(uid)
        if name:
            self._records.tell(KIND, name, None)

    def forget_told(self) -> None:
        """Begin a stream: its solver knows no namespace."""
        self._records.forget_told()

    def take(self) -> list[pb.Event]:
        """Return the records that are new to the solver, have changed, or are gone, once."""
        return self._records.take()

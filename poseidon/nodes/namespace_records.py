"""Namespaces as records: their labels, which selectors of pods may refer to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND = "Namespace"
NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server gives every namespace, with its name as the value."""


def labels_of(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a namespace, with the one that every namespace has."""
    return {**labels, NAME_LABEL: name}


def key(name: str) -> pb.RecordKey:
    """Return the key of a namespace's record."""
    return pb.RecordKey(kind=KIND, name=name)


def record(name: str, labels: Mapping[str, str]) -> pb.Record:
    """Return the record of a namespace; equal labels make equal records."""
    payload = json.dumps({"labels": labels_of(name, labels)}, sort_keys=True)
    return pb.Record(key=key(name), payload=payload.encode())

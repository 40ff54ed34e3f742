"""Follows objects of other projects that own pods, as they may name the queue of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.kube.api.pod_groups import ScaledOwner, ScaleSpec
from poseidon.kube.api.queues import QueuedOwner
from poseidon.kube.api.resource import Change, Resource
from poseidon.manifests.workloads.fields import NotKnownError
from poseidon.manifests.workloads.pod_sets import Known, PodSet
from poseidon.manifests.workloads.queued import count_pods, resume
from poseidon.manifests.workloads.table import FAMILIES

_NOTHING_ELSE = Known(())


def read_scale(kind: str, api_version: str, found: QueuedOwner) -> ScaledOwner:
    """Return an object with the number of pods that it is to have, also while it is suspended.

    The number is not stated if it cannot be told from the object alone: its pods are then no gang.
    """
    group = api_version.rpartition("/")[0]
    value: Mapping[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": found.metadata.name, "namespace": found.metadata.namespace},
        "spec": found.spec,
        "status": found.status,
    }
    try:
        value = resume(value) or value
        sets = [each for each in FAMILIES[group, kind](value, _NOTHING_ELSE) if isinstance(each, PodSet)]
        size = count_pods(kind, value, sets)
    except (MalformedObjectError, NotKnownError, RecursionError):
        size = 0
    return ScaledOwner(found.metadata, ScaleSpec(replicas=size))


def owner_changes(
    kind: str, resource: Resource[QueuedOwner], take: Callable[[Sequence[Change[Any]]], None]
) -> Callable[[Sequence[Change[QueuedOwner]]], None]:
    """Return what passes objects of a kind on to ``take``, with the numbers of their pods."""
    api_version = resource.path.removeprefix("/apis/").rpartition("/")[0]

    def take_changes(changes: Sequence[Change[QueuedOwner]]) -> None:
        take(
            [
                Change(uid, None if found is None else read_scale(kind, api_version, found))
                for uid, found in changes
            ]
        )

    return take_changes

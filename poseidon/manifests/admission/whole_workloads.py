"""Finds the pods that are created together or not at all: pods of an object that is resumed when all have places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.demands import MIN_PARALLELISM
from poseidon.queues.owners import OwnerKey, Owners
from poseidon.queues.queue_names import read_controller


def list_workloads(suspended: Sequence[Pod], owners: Iterable[tuple[str, ScaledOwner]]) -> dict[str, str]:
    """Return, by uid, the topmost owner of the pods of suspended objects.

    An owner that may begin with fewer pods is left out.

    ``owners`` are all objects that own pods, each with its kind.
    """
    if not suspended:
        return {}
    known, begins_with_fewer = Owners(), set[OwnerKey]()
    for index, (kind, owner) in enumerate(owners):
        key = known.put(kind, str(index), owner.metadata)
        if key is not None and MIN_PARALLELISM in owner.metadata.annotations:
            begins_with_fewer.add(key)
    found: dict[str, str] = {}
    for pod in suspended:
        above = known.iter_above(pod.metadata.namespace or "default", read_controller(pod.metadata))
        keys = [key for key, _ in above]
        if keys and begins_with_fewer.isdisjoint(keys):
            found[pod.metadata.uid] = "/".join(keys[-1])
    return found

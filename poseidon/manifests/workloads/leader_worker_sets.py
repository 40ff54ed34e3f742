"""LeaderWorkerSet (leaderworkerset.x-k8s.io): groups of a leader and its workers."""

from __future__ import annotations

from collections.abc import Iterator

from poseidon.manifests.workloads.exclusive import exclusively, group_key
from poseidon.manifests.workloads.fields import Value, mapping, name_of, namespace_of, number, text
from poseidon.manifests.workloads.pod_sets import Known, PodSet, number_names

_PREFIX = "leaderworkerset.sigs.k8s.io"


def read_leader_worker_set(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - asked alike
    """Yield the leader and the workers of each group."""
    name, spec = name_of(value), mapping(value, "spec")
    made = mapping(spec, "leaderWorkerTemplate")
    size = number(made, "size", default=1)
    worker = mapping(made, "workerTemplate")
    leader = mapping(made, "leaderTemplate") or worker
    topology = text(value, "metadata", "annotations", f"{_PREFIX}/exclusive-topology")
    for group in range(number(spec, "replicas", default=1)):
        leader_name = f"{name}-{group}"
        key = group_key(namespace_of(value), leader_name)
        labels = {f"{_PREFIX}/group-key": key}
        annotations = {f"{_PREFIX}/size": str(size)}
        marks = {f"{_PREFIX}/name": name, f"{_PREFIX}/group-index": str(group)}
        if size:
            yield PodSet(
                names=(leader_name,),
                template=exclusively(leader, topology, f"{_PREFIX}/group-key", key),
                owner=("StatefulSet", name),
                marks={**marks, f"{_PREFIX}/worker-index": "0"},
                labels=labels,
                annotations=annotations,
            )
        if size > 1:
            yield PodSet(
                names=number_names(leader_name, size - 1, 1),
                template=exclusively(worker, topology, f"{_PREFIX}/group-key", key),
                owner=("StatefulSet", leader_name),
                marks=marks,
                labels=labels,
                annotations={**annotations, f"{_PREFIX}/leader-name": leader_name},
                index_label=f"{_PREFIX}/worker-index",
                first_index=1,
            )

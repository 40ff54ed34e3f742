"""Reads Kubeflow's training jobs: TFJob, PyTorchJob, XGBoostJob, PaddleJob, JAXJob and both versions of MPIJob.

Each job has a map of replica types, with a number of pods and a pod template for each type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from poseidon.manifests.workloads.common.fields import Value, find, is_over, mapping, name_of, number, text
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names

_PREFIX = "training.kubeflow.org"


def reader(kind: str, field: str) -> Callable[[Value, Known], Iterator[PodSet]]:
    """Return a reader for one kind of training job; ``field`` is the field of its spec that holds the replica types."""

    def read(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - every family is asked alike
        spec, name = mapping(value, "spec"), name_of(value)
        if find(spec, "runPolicy", "suspend") is True or is_over(value):
            return
        for replica_type, replicas in mapping(spec, field).items():
            lowered = str(replica_type).lower()
            launcher = kind == "MPIJob" and lowered == "launcher"
            # Since v2beta1 of MPIJob, a Job creates the launcher's pod.
            by_job = launcher and text(value, "apiVersion").endswith("v2beta1")
            prefix = f"{name}-{lowered}"
            count = number(replicas, "replicas", default=1)
            yield PodSet(
                names=(prefix,) if launcher and count == 1 else number_names(prefix, count),
                template=mapping(replicas, "template"),
                owner=("Job", prefix) if by_job else (kind, name),
                marks={f"{_PREFIX}/job-name": name, f"{_PREFIX}/replica-type": lowered},
                labels={f"{_PREFIX}/operator-name": f"{kind.lower()}-controller"},
                index_label=f"{_PREFIX}/replica-index",
                once=True,
            )

    return read

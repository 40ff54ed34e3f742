"""What is left of a pod whose manifest cannot be dealt with."""

from __future__ import annotations

from poseidon.kube.api.core import Container, ObjectMeta, Pod, PodSpec, PodStatus


def bare(pod: Pod) -> Pod:
    """Return what has to be known of a pod in any case: who it is, where it runs, and what it takes there."""
    metadata, spec = pod.metadata, pod.spec
    return Pod(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            deletion_timestamp=metadata.deletion_timestamp,
        ),
        spec=PodSpec(
            node_name=spec.node_name,
            scheduler_name=spec.scheduler_name,
            priority=spec.priority,
            priority_class_name=spec.priority_class_name,
            preemption_policy=spec.preemption_policy,
            containers=tuple(_resources_only(each) for each in spec.containers),
            init_containers=tuple(_resources_only(each) for each in spec.init_containers),
            overhead=spec.overhead,
            resources=spec.resources,
            scheduling_gates=spec.scheduling_gates,
        ),
        status=PodStatus(phase=pod.status.phase),
    )


def _resources_only(container: Container) -> Container:
    return Container(
        name=container.name, resources=container.resources, restart_policy=container.restart_policy
    )

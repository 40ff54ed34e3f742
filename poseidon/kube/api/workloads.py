"""Defines kinds that own pods, with the fields that determine which pods they will create."""

from __future__ import annotations

from poseidon.kube.api.metadata import Condition, KubeStruct, ObjectMeta
from poseidon.kube.api.pods import PodSpec
from poseidon.kube.api.storage import PersistentVolumeClaim


class PodTemplate(KubeStruct, frozen=True):
    """The template of a workload's pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Ordinals(KubeStruct, frozen=True):
    """How a StatefulSet numbers its pods."""

    start: int = 0


class ReplicaSpec(KubeStruct, frozen=True):
    """Spec of a ReplicaSet, ReplicationController, Deployment or StatefulSet.

    Only StatefulSets have the fields after the template.
    """

    replicas: int = 1
    template: PodTemplate | None = None
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()


class ReplicaWorkload(KubeStruct, frozen=True):
    """A ReplicaSet, ReplicationController, Deployment or StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSpec = ReplicaSpec()


class DaemonSetSpec(KubeStruct, frozen=True):
    """Spec of a DaemonSet."""

    template: PodTemplate | None = None


class DaemonSet(KubeStruct, frozen=True):
    """apps/v1 DaemonSet: one pod on every node that its template allows."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(KubeStruct, frozen=True):
    """Spec of a Job. Without ``completions`` any success ends the job (a work queue)."""

    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False
    template: PodTemplate | None = None


class JobStatus(KubeStruct, frozen=True):
    """Status of a Job."""

    succeeded: int = 0
    conditions: tuple[Condition, ...] = ()


class Job(KubeStruct, frozen=True):
    """batch/v1 Job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def over(self) -> bool:
        """Whether the Job has completed, or failed for good."""
        return any(
            condition.status == "True" and condition.type in ("Complete", "Failed")
            for condition in self.status.conditions
        )


class JobTemplate(KubeStruct, frozen=True):
    """The Job that a CronJob creates each time."""

    spec: JobSpec = JobSpec()


class CronJobSpec(KubeStruct, frozen=True):
    """Spec of a CronJob."""

    suspend: bool = False
    job_template: JobTemplate | None = None


class CronJob(KubeStruct, frozen=True):
    """batch/v1 CronJob: a Job at each of the times that its schedule names."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()

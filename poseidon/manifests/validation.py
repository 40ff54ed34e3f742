"""Finds faults for which the API server would refuse an object, or which make the object useless for scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator

from poseidon.kube.api.devices import (
    DeviceClass,
    NodeDeviceList,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, Resources, seconds
from poseidon.kube.api.namespaces import LimitRange, Namespace, ResourceQuota
from poseidon.kube.api.nodes import Node, PriorityClass, RuntimeClass, Service
from poseidon.kube.api.pod_groups import DisruptionBudget
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from poseidon.kube.api.workloads import CronJob, DaemonSet, Job, PodTemplate, ReplicaWorkload
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import label_defects
from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.manifests.amounts import unit_of
from poseidon.manifests.disruption_budgets import budget_defects
from poseidon.nodes.machines import machine
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import HIGHEST, LOWEST
from poseidon.volumes.requirements import volume_rules

MAX_PODS = 1_000_000
"""The most pods that a number in an object may mean; no cluster runs so many (Kubernetes supports 150,000)."""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)

STORAGE_KINDS = (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
)
DEVICE_KINDS = (DeviceClass, NodeDeviceList, ResourceClaim, ResourceClaimTemplate, ResourceSlice)
_BINDING_MODES = ("", "Immediate", "WaitForFirstConsumer")


class Validator:
    """Checks objects one by one; it remembers checked pod specs, because most are copies of a template."""

    def __init__(self) -> None:
        self._classes = ClassTable()

    def defects(self, found: KubeStruct) -> Iterator[Defect]:
        """Yield the faults of an object of any kind that this program reads."""
        metadata: ObjectMeta = found.metadata  # type: ignore[attr-defined]  # every kind that is read has it
        yield from _metadata_defects(metadata)
        if isinstance(found, Node):
            yield from (defect for defect in machine(found)[1] if defect.field != "metadata.name")
        elif isinstance(found, Pod):
            yield from self._pod_defects(found)
        elif isinstance(found, (Namespace, Service, *DEVICE_KINDS)):
            return
        elif isinstance(found, DisruptionBudget):
            yield from budget_defects(found)
        elif isinstance(found, STORAGE_KINDS):
            yield from storage_defects(found)
        elif isinstance(found, LimitRange | ResourceQuota | RuntimeClass):
            yield from _admission_defects(found)
        elif isinstance(found, PriorityClass):
            yield from _priority_defects("value", found.value)
        elif isinstance(found, CronJob):
            job_template = found.spec.job_template
            if job_template is None:
                yield Defect("spec.jobTemplate", "missing; describe the Job")
            else:
                for defect in self._workload_defects(Job(spec=job_template.spec)):
                    yield defect.prefix_path("spec.jobTemplate")
        else:
            yield from self._workload_defects(found)

    def warnings(self, found: KubeStruct) -> Iterator[Defect]:
        """Yield warnings about an object that is odd, but usable."""
        if isinstance(found, Node) and found.status.allocatable and "pods" not in found.status.allocatable:
            yield Defect(
                "status.allocatable.pods", "missing, so no pod fits on the node; add one, such as 110"
            )

    def _pod_defects(self, pod: Pod) -> Iterator[Defect]:
        yield from self._classes.defects(self._classes.intern(pod))
        if pod.spec.priority is not None:
            yield from _priority_defects("spec.priority", pod.spec.priority)

    def _workload_defects(self, found: KubeStruct) -> Iterator[Defect]:
        yield from _count_defects(found)
        yield from self._template_defects(found)

    def _template_defects(self, found: KubeStruct) -> Iterator[Defect]:
        template: PodTemplate | None = found.spec.template  # type: ignore[attr-defined]  # a workload's
        if template is None:
            yield Defect("spec.template", "missing; describe the pods")
            return
        for defect in self.pod_template_defects(template):
            yield defect.prefix_path("spec.template")

    def pod_template_defects(self, template: PodTemplate) -> Iterator[Defect]:
        """Yield the faults of a pod template."""
        yield from label_defects(template.metadata.labels, "metadata.labels")
        yield from self._pod_defects(Pod(metadata=template.metadata, spec=template.spec))


def _metadata_defects(metadata: ObjectMeta) -> Iterator[Defect]:
    if not metadata.name:
        yield Defect("metadata.name", "missing; give the object a name")
    for field, value in (("name", metadata.name), ("namespace", metadata.namespace)):
        if value and (len(value) > 253 or not _NAME.fullmatch(value)):
            problem = f"{value!r} is not a valid name; use lower-case letters, digits, '-' and '.'"
            yield Defect(f"metadata.{field}", problem)
    yield from label_defects(metadata.labels, "metadata.labels")
    for field, time in (
        ("creationTimestamp", metadata.creation_timestamp),
        ("deletionTimestamp", metadata.deletion_timestamp),
    ):
        if time is not None and seconds(time) is None:
            problem = f"{time!r} is not an RFC 3339 time; write one such as 2026-01-31T12:00:00Z"
            yield Defect(f"metadata.{field}", problem)


def _priority_defects(field: str, value: int) -> Iterator[Defect]:
    if not LOWEST <= value <= HIGHEST:
        yield Defect(field, f"{value} is out of range; priorities have 32 bits")


def _count_defects(found: KubeStruct) -> Iterator[Defect]:
    counts: tuple[tuple[str, int | None], ...] = ()
    if isinstance(found, ReplicaWorkload):
        counts = (("spec.replicas", found.spec.replicas), ("spec.ordinals.start", found.spec.ordinals.start))
    elif isinstance(found, Job):
        counts = (
            ("spec.parallelism", found.spec.parallelism),
            ("spec.completions", found.spec.completions),
            ("status.succeeded", found.status.succeeded),
        )
    elif not isinstance(found, DaemonSet):
        raise TypeError(f"{type(found).__name__} is not a workload")
    for field, count in counts:
        if count is not None and count < 0:
            yield Defect(field, f"{count} is negative; give 0 or more")
        elif count is not None and count > MAX_PODS:
            yield Defect(field, f"{count} is absurdly large; at most {MAX_PODS} are accepted")


def storage_defects(found: KubeStruct) -> Iterator[Defect]:
    """Yield faults of a storage object for which the API server would refuse it, if they matter for scheduling."""
    if isinstance(found, PersistentVolume):
        yield from _size_defects(found.spec.capacity, "spec.capacity")
        rules: list[Defect] = []
        volume_rules(found, rules)
        yield from rules
    elif isinstance(found, PersistentVolumeClaim):
        yield from _size_defects(found.spec.resources.requests, "spec.resources.requests")
    elif isinstance(found, StorageClass) and found.volume_binding_mode not in _BINDING_MODES:
        problem = f"unknown mode {found.volume_binding_mode!r}; use Immediate or WaitForFirstConsumer"
        yield Defect("volumeBindingMode", problem)


def _admission_defects(found: LimitRange | ResourceQuota | RuntimeClass) -> Iterator[Defect]:
    """Yield the invalid amounts of a LimitRange, ResourceQuota or RuntimeClass."""
    parts: list[tuple[str, Resources]] = []
    if isinstance(found, ResourceQuota):
        parts = [("spec.hard", found.spec.hard), ("status.used", found.status.used)]
    elif isinstance(found, RuntimeClass):
        parts = [("overhead.podFixed", found.overhead.pod_fixed)]
    else:
        for index, item in enumerate(found.spec.limits):
            parts += [
                (f"spec.limits[{index}].{name}", amounts)
                for name, amounts in (
                    ("max", item.max),
                    ("min", item.min),
                    ("default", item.default),
                    ("defaultRequest", item.default_request),
                    ("maxLimitRequestRatio", item.max_limit_request_ratio),
                )
            ]
    for path, amounts in parts:
        for resource, value in amounts.items():
            try:
                amount(unit_of(resource), value)
            except QuantityError as error:
                yield Defect(f"{path}.{resource}", str(error))


def _size_defects(amounts: Resources, path: str) -> Iterator[Defect]:
    if "storage" not in amounts:
        return
    try:
        amount("storage", amounts["storage"])
    except QuantityError as error:
        yield Defect(f"{path}.storage", str(error))

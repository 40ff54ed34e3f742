"""Makes templates: the parts of classes that a pod's spec alone determines, without labels and namespace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.parsing.defects import Defect, list_defects
from poseidon.pod_rules import pod_affinity
from poseidon.pod_rules.node_affinity import node_selector, parse_preferred_terms, parse_required_terms
from poseidon.pod_rules.node_declared_features import list_node_feature_rules
from poseidon.pod_rules.rule_limits import describe_excess, keep_few_resources
from poseidon.pod_rules.taint_toleration import tolerations
from poseidon.pod_rules.topology_spread import spread_rules
from poseidon.pods.host_ports_images_disks import disks, images, list_host_ports
from poseidon.pods.koordinator_priority import service_class
from poseidon.pods.requests_and_limits import (
    add_annotated_bandwidth,
    amounts,
    compute_assumed_requests,
    container_messages,
    effective_limits,
    effective_requests,
    list_quantities,
    quality_of_service,
)
from poseidon.pods.run_times import find_run_seconds
from poseidon.pods.visibility import FiledReads, Visibility, list_reads
from protos.firmament.v1 import scheduler_pb2 as pb

NEVER = "Never"
"""The preemption policy of pods that wait instead of evicting other pods."""

POD_SET_GROUP = "kueue.x-k8s.io/podset-group-name"
"""Annotation with the name of a group of pod sets of one workload of Kueue, such as a leader and its workers."""

KAI_GPU_PARTS = ("gpu-fraction", "gpu-memory")
"""KAI's annotations that request a part of a GPU without naming a resource, so that the part could not be counted."""

_SOURCE_CACHE_LIMIT = 50_000


class ClassSource(Struct, frozen=True, gc=False, omit_defaults=True):
    """The fields of a pod that determine its class, and the key of its template.

    Pods with equal sources share a template. ``describe`` gets only this record and no pod, so that it cannot read
    fields that differ between pods of one class.
    """

    spec: PodSpec
    """The pod's spec, without fields that other fields of this record replace or that no class depends on."""
    metadata: ObjectMeta
    """Namespace and labels, if the pod's own rules refer to them, and the annotations that cost models read."""
    disks: tuple[tuple[str, bool], ...]
    """The disks of the pod's volumes: the name of each, and whether the pod only reads it."""
    never_preempts: bool
    """Whether the pod waits instead of evicting other pods."""
    runs_to_completion: bool
    """Whether the pod is expected to end by itself, like pods of Jobs."""
    service_class: str
    """Koordinator's priority class, "" if no cost model reads it."""
    daemon: bool
    """Whether a DaemonSet owns the pod and a cost model reads that."""
    run_seconds: int
    """Longest run time in seconds; 0 if it is not known."""
    profile: str
    """The scheduler name of the pod, if pods of this scheduler are scored by a profile of their own; else ""."""
    flavor_group: str
    """The group of pod sets that take the same flavors of a queue of Kueue, by the pod's annotation; "" for none."""
    gpu_part: str
    """The annotation by which the pod requests a part of a GPU from KAI, "" for none."""


def class_source(
    pod: Pod, visibility: Visibility, *, priority: int | None = None, daemon: bool = False
) -> ClassSource:
    """Return the source of a pod's class. ``priority`` is the pod's priority, if its spec does not state it."""
    spec = pod.spec
    return ClassSource(
        spec=replace(spec, **_ELSEWHERE),
        metadata=_metadata_read(pod, visibility.annotations_of(pod)),
        disks=tuple(disks(spec)) if spec.volumes else (),
        never_preempts=spec.preemption_policy == NEVER,
        runs_to_completion=(
            spec.restart_policy in ("Never", "OnFailure") or spec.active_deadline_seconds is not None
        ),
        service_class=_service_class(pod, priority) if visibility.service_classes else "",
        daemon=daemon and visibility.daemons,
        run_seconds=find_run_seconds(pod) if pod.metadata.annotations or spec.active_deadline_seconds else 0,
        profile=spec.scheduler_name if spec.scheduler_name in visibility.profiles else "",
        flavor_group=pod.metadata.annotations.get(POD_SET_GROUP, ""),
        gpu_part=next((key for key in KAI_GPU_PARTS if pod.metadata.annotations.get(key)), ""),
    )


_ELSEWHERE = {
    # Other fields of the class's source, such as `never_preempts` and `disks`, replace these fields.
    "preemption_policy": "",
    "restart_policy": "",
    "active_deadline_seconds": None,
    "termination_grace_period_seconds": None,
    "volumes": (),
    # No class depends on these fields.
    "node_name": "",
    "scheduler_name": "",
    "priority": None,
    "priority_class_name": "",
    "runtime_class_name": "",
    "scheduling_gates": (),
    "workload_ref": None,
    "scheduling_group": None,
    # Resource claims are added to the class once they are known.
    "resource_claims": (),
}
"""Fields of a pod's spec that are left out of a source.

New fields of the spec are part of the class's source by default.
"""


def describe(source: ClassSource, visibility: Visibility) -> tuple[pb.TaskClass, tuple[Defect, ...]]:
    """Return the class that a source determines, without number, labels and namespace, and the defects of the spec.

    A class with defects states them in ``invalid``; of its rules, it has only ports and disks. The solver therefore
    always accepts the class, never places its tasks, and still counts running ones. A class with far too many rules
    is treated in the same way.
    """
    spec = keep_few_resources(source.spec)
    defects: list[Defect] = []
    if not spec.containers:
        defects.append(Defect("spec.containers", "empty; a pod needs at least one container"))
    if source.gpu_part:
        problem = "parts of GPUs are not given as in KAI; ask for whole GPUs, or for parts as HAMi or Koordinator does"
        defects.append(Defect(f"metadata.annotations[{source.gpu_part}]", problem))
    requests = effective_requests(spec, defects)
    if visibility.bandwidth:
        requests = add_annotated_bandwidth(requests, source.metadata.annotations)
    message = pb.TaskClass(
        requests=list_quantities(requests),
        assumed=list_quantities(compute_assumed_requests(spec)),
        annotations=source.metadata.annotations,
        ports=list_host_ports(spec, defects),
        disks=[pb.Disk(name=name, read_only=read_only) for name, read_only in source.disks],
        never_preempts=source.never_preempts,
        runs_to_completion=source.runs_to_completion,
        service_class=source.service_class,
        daemon=source.daemon,
        run_seconds=source.run_seconds,
        profile=source.profile,
        flavor_group=source.flavor_group,
    )
    too_much = describe_excess(source.spec)
    rules = pb.TaskClass(invalid=too_much) if too_much else _rules(source, defects)
    _add_detail(message, spec, visibility)
    if defects:
        message.invalid = list_defects(defects)
    else:
        message.MergeFrom(rules)
    return message, tuple(defects)


@dataclass(slots=True, eq=False)
class Plain:
    """A class without labels, namespace and images; compared by identity."""

    message: pb.TaskClass
    defects: tuple[Defect, ...]
    reads: tuple[FiledReads, ...]
    """The labels of pods that its selectors read."""


class Template(NamedTuple):
    """A class made from a spec, and the images of its containers.

    Images are part of the class only if they affect scores.
    """

    plain: Plain
    images: tuple[str, ...]


class TemplateTable:
    """Templates by content.

    For a spec that was seen before, finding its template takes one encoding and one look-up.

    Templates are kept until ``keep_only``; the number of remembered sources is limited. ``is_daemon`` returns whether a
    DaemonSet owns a pod.
    """

    def __init__(self, visibility: Visibility, is_daemon: Callable[[Pod], bool]) -> None:
        self._visibility = visibility
        self._is_daemon = is_daemon
        self._encode = msgspec.json.Encoder().encode
        self._by_source: dict[bytes, Template] = {}
        self._by_content: dict[bytes, Plain] = {}
        self._templates: dict[Template, Template] = {}

    def intern(self, pod: Pod, *, priority: int | None = None) -> Template:
        """Return the pod's template; ``priority`` is the pod's priority, if its spec does not state it."""
        daemon = self._visibility.daemons and self._is_daemon(pod)
        source = class_source(pod, self._visibility, priority=priority, daemon=daemon)
        key = self._encode(source)
        known = self._by_source.get(key)
        if known is not None:
            return known
        message, defects = describe(source, self._visibility)
        own = tuple(message.images)
        del message.images[:]
        content = message.SerializeToString(deterministic=True)
        plain = self._by_content.get(content)
        if plain is None:
            plain = self._by_content[content] = Plain(message, defects, list_reads(message))
        template = Template(plain, own)
        template = self._templates.setdefault(template, template)
        if len(self._by_source) >= _SOURCE_CACHE_LIMIT:
            self._by_source.clear()
        self._by_source[key] = template
        return template

    def keep_only(self, templates: Collection[Template]) -> None:
        """Remove all other templates; a later pod with the content of a removed template gets a new one."""
        plain = {template.plain for template in templates}
        self._templates = {template: template for template in templates}
        self._by_content = {content: each for content, each in self._by_content.items() if each in plain}
        self._by_source = {key: each for key, each in self._by_source.items() if each in self._templates}


def _add_detail(message: pb.TaskClass, spec: PodSpec, visibility: Visibility) -> None:
    """Add the fields that only some cost models read. The pod's defects were found with its requests."""
    known: list[Defect] = []
    if visibility.containers:
        message.containers.extend(container_messages(spec, limits=visibility.limits))
        message.overhead.extend(list_quantities(amounts(spec.overhead, "spec.overhead", known)))
    if visibility.qualities:
        message.qos = quality_of_service(spec)
    if visibility.limits:
        message.limits.extend(list_quantities(effective_limits(spec, known)))


def _service_class(pod: Pod, priority: int | None) -> str:
    own = pod.spec.priority
    return service_class(pod, priority if own is None else own)


def _rules(source: ClassSource, defects: list[Defect]) -> pb.TaskClass:
    spec, metadata = source.spec, source.metadata
    message = pb.TaskClass(
        node_selector=node_selector(spec, defects) if spec.node_selector else None,
        tolerations=tolerations(spec.tolerations, defects) if spec.tolerations else (),
        spread=spread_rules(spec, metadata, defects) if spec.topology_spread_constraints else (),
        images=images(spec),
        volumes=list_node_feature_rules(spec),
    )
    affinity = spec.affinity
    if affinity is None:
        return message
    if affinity.node_affinity is not None:
        message.required.extend(parse_required_terms(affinity.node_affinity, defects))
        message.preferred.extend(parse_preferred_terms(affinity.node_affinity, defects))
    for rules, path, required, preferred in (
        (affinity.pod_affinity, "podAffinity", message.affinity, message.preferred_affinity),
        (
            affinity.pod_anti_affinity,
            "podAntiAffinity",
            message.anti_affinity,
            message.preferred_anti_affinity,
        ),
    ):
        if rules is not None:
            where = f"spec.affinity.{path}"
            required.extend(pod_affinity.parse_required_terms(rules, where, metadata, defects))
            preferred.extend(pod_affinity.parse_preferred_terms(rules, where, metadata, defects))
    return message


def _metadata_read(pod: Pod, annotations: dict[str, str]) -> ObjectMeta:
    """Return the metadata that a pod's class needs; rules between pods read namespace and labels."""
    spec, metadata = pod.spec, pod.metadata
    affinity = spec.affinity
    between = affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity)
    if not between and not spec.topology_spread_constraints:
        return ObjectMeta(annotations=annotations) if annotations else _NOTHING_READ
    keys = sorted(set(_label_keys(spec)))
    labels = {key: metadata.labels[key] for key in keys if key in metadata.labels}
    return ObjectMeta(namespace=metadata.namespace, labels=labels, annotations=annotations)


_NOTHING_READ = ObjectMeta()


def _label_keys(spec: PodSpec) -> Iterator[str]:
    """Yield the keys of the pod's own labels that its rules name in ``matchLabelKeys`` and ``mismatchLabelKeys``."""
    for constraint in spec.topology_spread_constraints:
        yield from constraint.match_label_keys
    affinity = spec.affinity
    for rules in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if rules is not None:
            for term in (*rules.required, *(each.pod_affinity_term for each in rules.preferred)):
                yield from term.match_label_keys
                yield from term.mismatch_label_keys

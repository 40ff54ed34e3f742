"""What a pod's spec says by itself, before its labels and namespace come in: most pods are copies of a template."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.parsing.defects import Defect, listed
from poseidon.pod_rules import pod_affinity
from poseidon.pod_rules.node_affinity import (
    feature_rules,
    node_selector,
    preferred_terms,
    required_terms,
    tolerations,
)
from poseidon.pod_rules.topology_spread import spread_rules
from poseidon.pods.containers import disks, host_ports, images
from poseidon.pods.estimates import service_class
from poseidon.pods.resources import (
    amounts,
    assumed_requests,
    container_messages,
    effective_limits,
    effective_requests,
    quality_of_service,
    quantities,
    with_annotated_bandwidth,
)
from poseidon.pods.visibility import Visibility
from protos.firmament.v1 import scheduler_pb2 as pb

UNSUPPORTED_CLAIMS = (
    "spec.resourceClaims: dynamic resource allocation is not supported; leave the pod to kube-scheduler "
    "or request an extended resource"
)
"""Why a pod with device claims stays pending. Once it runs, whoever placed it, it counts like any other."""

NEVER = "Never"
"""The preemption policy of pods that wait rather than evict others."""

_SPEC_CACHE_LIMIT = 50_000


def describe(
    pod: Pod, visibility: Visibility, *, priority: int | None = None, daemon: bool = False
) -> tuple[pb.TaskClass, tuple[Defect, ...]]:
    """Return a pod's class without number, labels and namespace, and what is wrong with the pod's spec.

    ``priority`` is the pod's, if its spec does not say; ``daemon``: it is a DaemonSet's. A class with defects carries
    them as ``invalid`` and, of the rules, only ports and disks besides, so that the solver always accepts it, never
    places it, and still counts it where it runs.
    """
    spec = pod.spec
    defects: list[Defect] = []
    if not spec.containers:
        defects.append(Defect("spec.containers", "empty; a pod needs at least one container"))
    requests = effective_requests(spec, defects)
    if visibility.bandwidth:
        requests = with_annotated_bandwidth(requests, pod.metadata.annotations)
    message = pb.TaskClass(
        requests=quantities(requests),
        assumed=quantities(assumed_requests(spec)),
        annotations=visibility.annotations_of(pod),
        ports=host_ports(spec, defects),
        disks=[pb.Disk(name=name, read_only=read_only) for name, read_only in disks(spec)],
        never_preempts=spec.preemption_policy == NEVER,
        runs_to_completion=_runs_to_completion(spec),
    )
    rules = _rules(pod, defects)
    _add_detail(message, pod, visibility, priority, daemon=daemon)
    if defects:
        message.invalid = listed(defects)
    else:
        message.MergeFrom(rules)
        if _awaits_claims(spec):
            message.invalid = UNSUPPORTED_CLAIMS
    return message, tuple(defects)


@dataclass(slots=True, eq=False)
class Plain:
    """A class without labels, namespace and images. Two are equal only if they are the same object."""

    message: pb.TaskClass
    defects: tuple[Defect, ...]


class Template(NamedTuple):
    """What a spec says: a class, and the images of the containers, which belong to it only where they matter."""

    plain: Plain
    images: tuple[str, ...]


class TemplateTable:
    """Templates by content. A pod whose relevant spec has been seen before costs one encoding and one look-up.

    Templates are kept until ``keep_only``; the memory of specs is bounded besides. ``is_daemon`` says whether a pod is
    a DaemonSet's.
    """

    def __init__(self, visibility: Visibility, is_daemon: Callable[[Pod], bool]) -> None:
        self._visibility = visibility
        self._is_daemon = is_daemon
        self._encode = msgspec.json.Encoder().encode
        self._by_spec: dict[bytes, Template] = {}
        self._by_content: dict[bytes, Plain] = {}
        self._templates: dict[Template, Template] = {}

    def intern(self, pod: Pod, *, priority: int | None = None) -> Template:
        """Return the pod's template; ``priority`` is the pod's, if its spec does not say."""
        key = self._spec_key(pod, priority)
        known = self._by_spec.get(key)
        if known is not None:
            return known
        daemon = self._visibility.daemons and self._is_daemon(pod)
        message, defects = describe(pod, self._visibility, priority=priority, daemon=daemon)
        own = tuple(message.images)
        del message.images[:]
        content = message.SerializeToString(deterministic=True)
        plain = self._by_content.setdefault(content, Plain(message, defects))
        template = Template(plain, own)
        template = self._templates.setdefault(template, template)
        if len(self._by_spec) >= _SPEC_CACHE_LIMIT:
            self._by_spec.clear()
        self._by_spec[key] = template
        return template

    def keep_only(self, templates: Collection[Template]) -> None:
        """Forget all other templates; a pod that has one of these gets a new one."""
        plain = {template.plain for template in templates}
        self._templates = {template: template for template in templates}
        self._by_content = {content: each for content, each in self._by_content.items() if each in plain}
        self._by_spec = {spec: each for spec, each in self._by_spec.items() if each in self._templates}

    def _spec_key(self, pod: Pod, priority: int | None) -> bytes:
        spec = pod.spec
        return self._encode(
            (
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                spec.topology_spread_constraints,
                spec.host_network,
                disks(spec),
                spec.host_users,
                spec.preemption_policy == NEVER,
                _runs_to_completion(spec),
                _awaits_claims(spec),
                self._visibility.annotations_of(pod),
                _identity(pod),
                _service_class(pod, priority) if self._visibility.service_classes else "",
                self._visibility.daemons and self._is_daemon(pod),
            )
        )


def _add_detail(
    message: pb.TaskClass, pod: Pod, visibility: Visibility, priority: int | None, *, daemon: bool
) -> None:
    """Add what only some models look at. What is wrong with it has been found with the requests."""
    spec = pod.spec
    known: list[Defect] = []
    if visibility.containers:
        message.containers.extend(container_messages(spec, limits=visibility.limits))
        message.overhead.extend(quantities(amounts(spec.overhead, "spec.overhead", known)))
    if visibility.qualities:
        message.qos = quality_of_service(spec)
    if visibility.limits:
        message.limits.extend(quantities(effective_limits(spec, known)))
    if visibility.service_classes:
        message.service_class = _service_class(pod, priority)
    if visibility.daemons:
        message.daemon = daemon


def _service_class(pod: Pod, priority: int | None) -> str:
    own = pod.spec.priority
    return service_class(pod, priority if own is None else own)


def _rules(pod: Pod, defects: list[Defect]) -> pb.TaskClass:
    spec, metadata = pod.spec, pod.metadata
    message = pb.TaskClass(
        node_selector=node_selector(spec, defects),
        tolerations=tolerations(spec.tolerations, defects),
        spread=spread_rules(spec, metadata, defects) if spec.topology_spread_constraints else (),
        images=images(spec),
        volumes=feature_rules(spec),
    )
    affinity = spec.affinity
    if affinity is None:
        return message
    if affinity.node_affinity is not None:
        message.required.extend(required_terms(affinity.node_affinity, defects))
        message.preferred.extend(preferred_terms(affinity.node_affinity, defects))
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
            required.extend(pod_affinity.required_terms(rules, where, metadata, defects))
            preferred.extend(pod_affinity.preferred_terms(rules, where, metadata, defects))
    return message


def _runs_to_completion(spec: PodSpec) -> bool:
    """Whether a pod is expected to end by itself, as those of Jobs are; all that serve are restarted for ever."""
    return spec.restart_policy in ("Never", "OnFailure") or spec.active_deadline_seconds is not None


def _awaits_claims(spec: PodSpec) -> bool:
    return bool(spec.resource_claims) and not spec.node_name


def _identity(pod: Pod) -> tuple[str, dict[str, str]] | None:
    """Return what of the pod's own metadata its rules between pods read; None if it has no such rules."""
    spec, metadata = pod.spec, pod.metadata
    affinity = spec.affinity
    between = affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity)
    if not between and not spec.topology_spread_constraints:
        return None
    keys = sorted(set(_label_keys(spec)))
    return metadata.namespace, {key: metadata.labels[key] for key in keys if key in metadata.labels}


def _label_keys(spec: PodSpec) -> Iterator[str]:
    """Yield the labels of the pod itself that its selectors refer to by ``matchLabelKeys`` and its opposite."""
    for constraint in spec.topology_spread_constraints:
        yield from constraint.match_label_keys
    affinity = spec.affinity
    for rules in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if rules is not None:
            for term in (*rules.required, *(each.pod_affinity_term for each in rules.preferred)):
                yield from term.match_label_keys
                yield from term.mismatch_label_keys

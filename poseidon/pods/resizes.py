"""Counts the amounts of pods that are being resized in place, including those they may already, or still, use.

A change of requests takes several steps: the user writes the spec, the kubelet allocates it (or defers it, or finds
it infeasible), and the runtime carries it out. A node is safe only if each container counts with the largest of the
three (KEP-1287; ``component-helpers/resource.determineEffectiveRequests``). A smaller request therefore frees nothing
before the resize is done, and a larger request counts from the start. An infeasible request does not count, because
the kubelet will never allocate it.
"""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.kube.api.metadata import Number, Resources
from poseidon.kube.api.pods import Container, ContainerStatus, Pod, ResourceRequirements
from poseidon.kube.parsing.quantities import QuantityError, amount

PENDING, INFEASIBLE = "PodResizePending", "Infeasible"
_RESIZABLE = ("cpu", "memory")


def as_counted(pod: Pod) -> Pod:
    """Return a pod with the requests that its node counts during a resize; nearly always the pod itself.

    Among init containers, only sidecars can be resized. Limits are raised to the requests if these are higher, because
    limits are never below requests. Malformed quantities in the status are ignored.
    """
    status = pod.status
    infeasible = _is_infeasible(pod)
    known = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}
    spec = pod.spec
    containers = _apply_counts(spec.containers, known, infeasible=infeasible)
    sidecars = _apply_counts(spec.init_containers, known, infeasible=infeasible, sidecars=True)
    resources = spec.resources
    if status.resources is not None:
        held = (status.resources.requests, status.allocated_resources)
        stated = tuple({name: each[name] for name in resources.requests if name in each} for each in held)
        resources = _raise_requests(resources, stated, infeasible=infeasible)
    if containers is spec.containers and sidecars is spec.init_containers and resources is spec.resources:
        return pod
    counted = replace(spec, containers=containers, init_containers=sidecars, resources=resources)
    return replace(pod, spec=counted)


def _is_infeasible(pod: Pod) -> bool:
    condition = pod.condition(PENDING)
    return condition is not None and condition.reason == INFEASIBLE


def _apply_counts(
    containers: tuple[Container, ...],
    known: dict[str, ContainerStatus],
    *,
    infeasible: bool,
    sidecars: bool = False,
) -> tuple[Container, ...]:
    """Return containers with the requests that their node counts; the same tuple if nothing differs."""
    found, changed = [], False
    for each in containers:
        status = known.get(each.name)
        counted = each
        if (
            status is not None
            and status.resources is not None
            and (not sidecars or each.restart_policy == "Always")
        ):
            held = (status.resources.requests, status.allocated_resources)
            resources = _raise_requests(each.resources, held, infeasible=infeasible)
            if resources is not each.resources:
                counted, changed = replace(each, resources=resources), True
        found.append(counted)
    return tuple(found) if changed else containers


def _raise_requests(
    asked: ResourceRequirements, held: tuple[Resources, ...], *, infeasible: bool
) -> ResourceRequirements:
    """Return the larger of ``asked`` and ``held``, by resource; ``asked`` itself if ``held`` has the same amounts."""
    if all(asked.requests.get(name) == text for each in held for name, text in each.items()):
        return asked
    stated = {**asked.limits, **asked.requests}
    if infeasible:
        stated = {name: text for name, text in stated.items() if name not in _RESIZABLE}
    requests: Resources = {}
    for each in (stated, *held):
        for name, text in each.items():
            requests[name] = _larger(name, text, requests.get(name))
    limits = {name: _larger(name, text, requests.get(name)) for name, text in asked.limits.items()}
    return ResourceRequirements(requests, limits)


def _larger(resource: str, text: Number, other: Number | None) -> Number:
    """Return the larger of two quantities as text; ``other`` if ``text`` is no quantity."""
    if other is None or text == other:
        return text
    try:
        return text if amount(resource, text) > amount(resource, other) else other
    except QuantityError:
        return other

"""Computes how much of each resource a pod needs on its node.

The rules are those of ``k8s.io/component-helpers/resource.PodRequests``: KEP-753 for sidecars, KEP-2837 for pod-level
resources, and the API server's default that a missing request equals the limit. For scores, containers that request
nothing are assumed to need some cpu and memory (``compute_assumed_requests``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from poseidon.kube.api.metadata import Resources
from poseidon.kube.api.pods import Container, PodSpec, ResourceRequirements
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import MAX_AMOUNT, QuantityError, amount
from protos.firmament.v1 import scheduler_pb2 as pb

Amounts = dict[str, int]

ASSUMED: Mapping[str, int] = MappingProxyType({"cpu": 100, "memory": 200 * 2**20})
"""Assumed needs of a container without requests, in milli-cores and bytes, as in kube-scheduler.

In kube-scheduler, they are called DefaultMilliCPURequest and DefaultMemoryRequest.
"""

_HUGE_PAGES = "hugepages-"

BANDWIDTH = "network.aware.com/bandwidth"
"""Extended resource for network bandwidth: what a node has physically, and what pods request, in bits per second."""

BANDWIDTH_ANNOTATIONS = frozenset({"kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"})
"""Annotations by which the bandwidth plugin of CNI shapes a pod's traffic, in bits per second."""

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"
_COUNTED = ("cpu", "memory")
_FEW = 8
"""Most entries of a container's resources that are all read, to find its assumed requests."""


def amounts(resources: Resources, path: str, defects: list[Defect], *, down: bool = False) -> Amounts:
    """Parse a map of quantities; leave out invalid ones and add them to ``defects``.

    ``down``: fractions are dropped.
    """
    found: Amounts = {}
    for resource, value in resources.items():
        if not resource:
            defects.append(Defect(path, "a resource without a name; name it or remove it"))
            continue
        try:
            found[resource] = amount(resource, value, down=down)
        except QuantityError as error:
            defects.append(Defect(f"{path}.{resource}", str(error)))
    return found


def names_extended_resources(spec: PodSpec) -> bool:
    """Return whether a container names an extended resource, one that Kubernetes does not define."""
    return any(
        "/" in name
        for each in (*spec.init_containers, *spec.containers)
        for stated in (each.resources.requests, each.resources.limits)
        for name in stated
    )


def effective_requests(spec: PodSpec, defects: list[Defect]) -> Amounts:
    """Return the requests of a pod by resource, without zeros.

    Requests are max(containers + sidecars, each init container + the sidecars started before it), replaced by
    pod-level requests if the pod states any, plus the overhead of the runtime class. Requests must not depend on
    volumes, because ``templates.py`` passes specs without volumes.
    """
    total = _sum_requests(spec, defects, read_declared_requests)
    if spec.resources.requests or spec.resources.limits:
        _override_by_pod_level(total, spec.resources, defects)
    if spec.overhead:
        _add(total, amounts(spec.overhead, "spec.overhead", defects))
    return {resource: min(needed, MAX_AMOUNT) for resource, needed in total.items() if needed > 0}


def compute_assumed_requests(spec: PodSpec) -> Amounts:
    """Return the needs that scoring assumes for a pod in addition to its requests, by resource.

    As in kube-scheduler's NonZeroRequested, a container that states neither request nor limit for cpu or memory counts
    with the ``ASSUMED`` amount. A request of 0, or a request of the pod as a whole, counts as stated. Assumed needs do
    not affect whether a pod fits a node.
    """
    stated = spec.resources.requests.keys() | spec.resources.limits.keys()
    missing = {resource for resource in ASSUMED if resource not in stated}
    containers = (*spec.containers, *spec.init_containers)
    if not missing or all(missing <= _list_stated(container) for container in containers):
        return {}
    known: list[Defect] = []  # The code that reads the pod's requests reports these defects.
    with_assumed, without = (
        _sum_requests(spec, known, _complete),
        _sum_requests(spec, known, _read_assumed),
    )
    found = {name: with_assumed.get(name, 0) - without.get(name, 0) for name in sorted(missing)}
    return {name: amount for name, amount in found.items() if amount > 0}


def _list_stated(container: Container) -> set[str]:
    """Return the resources that a container states."""
    return container.resources.requests.keys() | container.resources.limits.keys()


def _complete(resources: ResourceRequirements, path: str, defects: list[Defect]) -> Amounts:
    """Return the requests of a container, with assumed amounts if it states none."""
    return {**ASSUMED, **_read_assumed(resources, path, defects)}


def _read_assumed(resources: ResourceRequirements, path: str, defects: list[Defect]) -> Amounts:
    """Read only a container's requests of cpu and memory: the container may name thousands of other resources."""
    if len(resources.requests) + len(resources.limits) > _FEW:
        requests = {name: resources.requests[name] for name in ASSUMED if name in resources.requests}
        limits = {name: resources.limits[name] for name in ASSUMED if name in resources.limits}
        resources = replace(resources, requests=requests, limits=limits)
    return read_declared_requests(resources, path, defects)


def _sum_requests(
    spec: PodSpec, defects: list[Defect], read: Callable[[ResourceRequirements, str, list[Defect]], Amounts]
) -> Amounts:
    """Return max(containers + sidecars, each init container + earlier sidecars); ``read`` reads each container."""
    total: Amounts = {}
    silent = 0
    for index, container in enumerate(spec.containers):
        if container.resources.requests or container.resources.limits:
            _add(total, read(container.resources, f"spec.containers[{index}].resources", defects))
        else:
            silent += 1
    if silent:
        _add(total, {name: each * silent for name, each in read(ResourceRequirements(), "", defects).items()})
    return _add_init_containers(total, spec.init_containers, defects, read) if spec.init_containers else total


def read_declared_requests(resources: ResourceRequirements, path: str, defects: list[Defect]) -> Amounts:
    """Return a container's requests, completed by its limits. A request above its limit is a defect."""
    requests = amounts(resources.requests, f"{path}.requests", defects) if resources.requests else {}
    if not resources.limits:
        return requests
    for resource, limit in amounts(resources.limits, f"{path}.limits", defects).items():
        if resource not in resources.requests:
            requests[resource] = limit
        elif requests.get(resource, 0) > limit:
            shown = f"{resources.requests[resource]} exceeds the limit {resources.limits[resource]}"
            defects.append(
                Defect(f"{path}.requests.{resource}", f"{shown}; lower the request or raise the limit")
            )
    return requests


def effective_limits(spec: PodSpec, defects: list[Defect]) -> Amounts:
    """Return the limits of a pod, for the resources that it limits.

    The rules are those of ``component-helpers/resource.PodLimits``: as for requests, but the overhead is added only if
    there is a limit. A container without a limit counts as 0.
    """
    total = _sum_requests(spec, defects, _limits)
    for resource, limit in amounts(spec.resources.limits, "spec.resources.limits", defects).items():
        if _is_allowed_at_pod_level(resource):
            total[resource] = limit
    for resource, more in amounts(spec.overhead, "spec.overhead", defects).items():
        if total.get(resource, 0) > 0:
            total[resource] += more
    return {resource: min(limit, MAX_AMOUNT) for resource, limit in total.items() if limit > 0}


def _limits(resources: ResourceRequirements, path: str, defects: list[Defect]) -> Amounts:
    return amounts(resources.limits, f"{path}.limits", defects)


def _add_init_containers(
    total: Amounts,
    containers: tuple[Container, ...],
    defects: list[Defect],
    read: Callable[[ResourceRequirements, str, list[Defect]], Amounts],
) -> Amounts:
    """Add sidecars to ``total``, and raise it to the largest need while init containers run."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, container in enumerate(containers):
        needed = read(container.resources, f"spec.initContainers[{index}].resources", defects)
        if container.restart_policy == "Always":
            _add(total, needed)
            _add(sidecars, needed)
        else:
            _add(needed, sidecars)
            _raise_to(peak, needed)
    _raise_to(total, peak)
    return total


def _override_by_pod_level(total: Amounts, resources: ResourceRequirements, defects: list[Defect]) -> None:
    """Replace sums by pod-level requests; a pod-level limit counts as request if nothing else is requested."""
    requests = amounts(resources.requests, "spec.resources.requests", defects)
    limits = amounts(resources.limits, "spec.resources.limits", defects)
    for resource, needed in requests.items():
        if _is_allowed_at_pod_level(resource):
            total[resource] = needed
    for resource, limit in limits.items():
        if _is_allowed_at_pod_level(resource) and resource not in resources.requests:
            total.setdefault(resource, limit)


def _is_allowed_at_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith(_HUGE_PAGES)


def _add(total: Amounts, more: Amounts) -> None:
    for resource, needed in more.items():
        total[resource] = total.get(resource, 0) + needed


def _raise_to(total: Amounts, least: Amounts) -> None:
    for resource, needed in least.items():
        if needed > total.get(resource, 0):
            total[resource] = needed


def add_annotated_bandwidth(requests: Amounts, annotations: Mapping[str, str]) -> Amounts:
    """Return requests that are raised to the larger of the ingress and egress bandwidth that the annotations state.

    Network interfaces send and receive at the same time, so the two are not added. An annotation that is no quantity
    is ignored, because the kubelet refuses a pod with such an annotation.
    """
    wanted = max((_bits(annotations[key]) for key in BANDWIDTH_ANNOTATIONS if key in annotations), default=0)
    return {**requests, BANDWIDTH: wanted} if wanted > requests.get(BANDWIDTH, 0) else requests


def _bits(text: str) -> int:
    try:
        return amount(BANDWIDTH, text)
    except QuantityError:
        return 0


def quality_of_service(spec: PodSpec) -> str:
    """Return a pod's QoS class (Guaranteed, Burstable or BestEffort), by its requests and limits of cpu and memory.

    Malformed amounts are ignored, because the code that reads the requests reports them.
    """
    whole = spec.resources
    parts = (
        [whole]
        if whole.requests or whole.limits
        else [c.resources for c in (*spec.containers, *spec.init_containers)]
    )
    requests: Amounts = {}
    limits: Amounts = {}
    limited = True
    for part in parts:
        asked, allowed = _positive(part)
        limited = limited and len(allowed) == len(_COUNTED)
        for total, more in ((requests, asked), (limits, allowed)):
            _add(total, more)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited and requests == limits else BURSTABLE


def _positive(resources: ResourceRequirements) -> tuple[Amounts, Amounts]:
    """Return requests (completed by limits, as in admission) and limits, of cpu and memory above 0."""
    ignored: list[Defect] = []
    limits = amounts(_keep_counted(resources.limits), "", ignored)
    requests = {**limits, **amounts(_keep_counted(resources.requests), "", ignored)}
    return _keep_positive(requests), _keep_positive(limits)


def _keep_counted(resources: Resources) -> Resources:
    return {name: resources[name] for name in _COUNTED if name in resources}


def _keep_positive(found: Amounts) -> Amounts:
    return {name: found[name] for name in _COUNTED if found.get(name, 0) > 0}


def container_messages(spec: PodSpec, *, limits: bool) -> Iterator[pb.Container]:
    """Yield one message per container, init containers first; ``limits``: include the containers' limits."""
    for container in spec.init_containers:
        sidecar = container.restart_policy == "Always"
        yield _message(container, pb.Container.SIDECAR if sidecar else pb.Container.INIT, limits=limits)
    for container in spec.containers:
        yield _message(container, pb.Container.APP, limits=limits)


def _message(container: Container, kind: pb.Container.Kind.ValueType, *, limits: bool) -> pb.Container:
    known: list[Defect] = []  # The code that reads the pod's requests reports these defects.
    resources = container.resources
    return pb.Container(
        name=container.name,
        kind=kind,
        requests=list_quantities(read_declared_requests(resources, "", known)),
        limits=list_quantities(amounts(resources.limits, "", known)) if limits else (),
    )


def list_quantities(found: Amounts) -> list[pb.Quantity]:
    """Return amounts as messages of the protocol, in order of names."""
    return [pb.Quantity(resource=name, amount=found[name]) for name in sorted(found)]

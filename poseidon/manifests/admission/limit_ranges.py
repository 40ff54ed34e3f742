"""Applies LimitRanges to the pods of their namespaces: fills in requests and limits, and refuses some pods.

Follows the LimitRanger admission plugin, and the defaulting of ``core/v1`` LimitRange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from poseidon.kube.api.metadata import Number, Resources
from poseidon.kube.api.namespaces import LimitRange, LimitRangeItem
from poseidon.kube.api.pods import Container, PodSpec, ResourceRequirements
from poseidon.kube.parsing.defects import Defect
from poseidon.manifests.amounts import format_amount, parse_amount
from poseidon.pods.requests_and_limits import effective_limits, effective_requests

_CONTAINER, _POD = "Container", "Pod"


def complete_spec(spec: PodSpec, limit_range: LimitRange) -> PodSpec:
    """Return a pod's spec in which containers without requests or limits have the defaults of a LimitRange.

    Before the defaults are set, a container that states only a limit gets a request of the same amount, as in all
    pods.
    """
    requests: Resources = {}
    limits: Resources = {}
    for item in limit_range.spec.limits:
        if item.type == _CONTAINER:
            of_item, of_item_limits = _defaults(item)
            requests |= of_item
            limits |= of_item_limits
    if not requests and not limits:
        return spec

    def complete(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            replace(each, resources=_add_defaults(each.resources, requests, limits)) for each in containers
        )

    return replace(spec, containers=complete(spec.containers), init_containers=complete(spec.init_containers))


def _defaults(item: LimitRangeItem) -> tuple[Resources, Resources]:
    """Return an item's default limits (else its maxima) and default requests (else the limits or the minima)."""
    limits = {**item.max, **item.default}
    requests = {**item.min, **limits, **item.default_request}
    return requests, limits


def _add_defaults(
    given: ResourceRequirements, requests: Resources, limits: Resources
) -> ResourceRequirements:
    return ResourceRequirements(
        requests={**requests, **given.limits, **given.requests}, limits={**limits, **given.limits}
    )


def violations(spec: PodSpec, limit_range: LimitRange) -> Iterator[str]:
    """Yield in the API server's words why a LimitRange refuses a pod."""
    for item in limit_range.spec.limits:
        if item.type == _CONTAINER:
            for container in (*spec.containers, *spec.init_containers):
                given = container.resources
                yield from _violations(item, given.requests, given.limits)
        elif item.type == _POD:
            # The code that reads the pod's requests reports these faults.
            known: list[Defect] = []
            alone = replace(spec, overhead={})
            requests, limits = effective_requests(alone, known), effective_limits(alone, known)
            yield from _violations(item, _as_written(requests), _as_written(limits))


def _as_written(amounts: dict[str, int]) -> Resources:
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def _violations(item: LimitRangeItem, requests: Resources, limits: Resources) -> Iterator[str]:
    def outside(
        kind: str,
        bounds: Resources,
        stated: tuple[tuple[str, Resources], ...],
        wrong: Callable[[int, int], bool],
    ) -> Iterator[str]:
        """Yield a fault per amount outside the bounds; the first map of ``stated`` must have every bounded amount."""
        (needed, first), _ = stated
        for resource, bound in bounds.items():
            head = f"{kind} {resource} usage per {item.type} is {bound}"
            if resource not in first:
                yield f"{head}. No {needed} is specified"
                continue
            for what, amounts in stated:
                value: Number | None = amounts.get(resource)
                if value is not None and wrong(parse_amount(resource, value), parse_amount(resource, bound)):
                    yield f"{head}, but {what} is {value}"
                    break

    yield from outside("minimum", item.min, (("request", requests), ("limit", limits)), int.__lt__)
    yield from outside("maximum", item.max, (("limit", limits), ("request", requests)), int.__gt__)
    for resource, ratio in item.max_limit_request_ratio.items():
        head = f"{resource} max limit to request ratio per {item.type} is {ratio}"
        request = parse_amount(resource, requests.get(resource, 0))
        limit = parse_amount(resource, limits.get(resource, 0))
        if not request or not limit:
            what = "limit" if request else "request"
            yield f"{head}, but no {what} is specified or {what} is 0"
        elif limit * 1000 > parse_amount("cpu", ratio) * request:
            yield f"{head}, but provided ratio is {limit / request:f}"

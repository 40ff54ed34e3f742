"""The quality-of-service class of a pod, as the API server works it out (``qos.ComputePodQOS``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.pods.requests.resources import Amounts, amounts

if TYPE_CHECKING:
    from poseidon.kube.api.core import PodSpec, ResourceRequirements
    from poseidon.kube.parsing.defects import Defect

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"

_COUNTED = ("cpu", "memory")


def quality_of_service(spec: PodSpec) -> str:
    """Return Guaranteed, Burstable or BestEffort, by cpu and memory of all containers or of the pod as a whole.

    Amounts that are none count as absent; whoever reads the requests reports them.
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
            for name, amount in more.items():
                total[name] = total.get(name, 0) + amount
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited and requests == limits else BURSTABLE


def _positive(resources: ResourceRequirements) -> tuple[Amounts, Amounts]:
    """Return requests, completed by limits as on admission, and limits; cpu and memory above 0."""
    ignored: list[Defect] = []
    limits = amounts(resources.limits, "", ignored)
    requests = {**limits, **amounts(resources.requests, "", ignored)}
    return _counted(requests), _counted(limits)


def _counted(found: Amounts) -> Amounts:
    return {name: found[name] for name in _COUNTED if found.get(name, 0) > 0}

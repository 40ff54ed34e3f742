"""What the API server does to pods on their way in: defaults, admission of priorities, and the rules for changes.

Only what a scheduler, a kubelet or kubectl can tell is done. Rules and words follow ``pkg/apis/core`` and
``pkg/registry/core/pod`` of Kubernetes.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

DEFAULT_SCHEDULER = "default-scheduler"

_IMMUTABLE_NOTE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds`"
)


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class _Container(msgspec.Struct):
    name: str = ""
    image: str | None = None
    resources: _Resources | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    tolerations: list[dict[str, Any]] | None = None
    scheduling_gates: list[dict[str, Any]] | None = None
    affinity: dict[str, Any] | None = None
    overhead: dict[str, str | int | float] | None = None


def validate(pod: Object) -> None:
    """Check the shape of ``spec`` and that there are containers with names. Raises ``ApiError`` 400 or 422."""
    name = pod["metadata"].get("name", "")
    try:
        spec = msgspec.convert(pod.get("spec") or {}, _PodSpec)
    except msgspec.ValidationError as error:
        raise errors.bad_request(f"Pod in version v1 cannot be handled as a Pod: spec: {error}") from None
    causes = []
    if not spec.containers:
        causes.append(errors.required("spec.containers"))
    seen: set[str] = set()
    for index, container in enumerate(spec.containers or []):
        field = f"spec.containers[{index}].name"
        if not container.name:
            causes.append(errors.required(field))
        elif container.name in seen:
            causes.append(errors.Cause(field, "FieldValueDuplicate", f'Duplicate value: "{container.name}"'))
        seen.add(container.name)
    if causes:
        raise errors.invalid("Pod", "", name, causes)


def set_defaults(pod: Object) -> None:
    """Fill in what the API server fills in, as far as scheduling can depend on it."""
    spec = pod["spec"]
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.setdefault("resources", {})
            if limits := resources.get("limits"):
                # A limit without a request is a request of the same amount.
                resources["requests"] = {**limits, **(resources.get("requests") or {})}


def admit_priority(pod: Object, store: Store) -> None:
    """Set ``spec.priority`` from the priority class, the global default class, or 0. Raises ``ApiError`` 403."""
    spec = pod["spec"]
    wanted = spec.get("priorityClassName", "")
    classes = store.collection("priorityclasses.scheduling.k8s.io")
    if wanted:
        record = classes.get(wanted)
        if record is None:
            why = f"no PriorityClass with name {wanted} was found"
            raise errors.forbidden("pods", pod["metadata"].get("name", ""), why)
        chosen: Object | None = decode(record)
    else:
        defaults = [item for item in store.objects(classes) if item.get("globalDefault")]
        chosen = min(defaults, key=lambda item: int(item.get("value", 0)), default=None)
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    value = int(chosen.get("value", 0)) if chosen else 0
    if spec.get("priority") not in (None, value):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise errors.forbidden("pods", pod["metadata"].get("name", ""), why)
    spec["priority"] = value
    policy = (chosen or {}).get("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("preemptionPolicy", policy)


def initial_status(pod: Object) -> Object:
    """Return the status of a new pod: pending, with its quality-of-service class."""
    status: Object = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": None,
            }
        ]
    return status


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, by cpu and memory of all containers."""
    guaranteed, anything = True, False
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            for name in ("cpu", "memory"):
                anything = anything or name in requests or name in limits
                if name not in limits or requests.get(name) != limits[name]:
                    guaranteed = False
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def keep_admitted(pod: Object, before: Object) -> None:
    """Carry over what admission had set when an update leaves it out."""
    for field in ("priority", "preemptionPolicy", "priorityClassName", "nodeName"):
        if field in before["spec"]:
            pod["spec"].setdefault(field, before["spec"][field])


def validate_update(pod: Object, before: Object) -> None:
    """Refuse changes to immutable parts of ``spec``. Raises ``ApiError`` 422."""
    if _immutable_part(pod["spec"], gated=False) == _immutable_part(before["spec"], gated=False):
        return
    if before["spec"].get("schedulingGates"):
        gates = before["spec"]["schedulingGates"]
        only_removed = all(gate in gates for gate in pod["spec"].get("schedulingGates") or [])
        new, old = _immutable_part(pod["spec"], gated=True), _immutable_part(before["spec"], gated=True)
        if only_removed and new == old:
            return
    cause = errors.forbidden_field("spec", _IMMUTABLE_NOTE)
    raise errors.invalid("Pod", "", pod["metadata"]["name"], [cause])


def _immutable_part(spec: Object, *, gated: bool) -> Object:
    """Return ``spec`` without what may change; a gated pod may also change where it may run."""
    part = copy.deepcopy(spec)
    free = ["activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations"]
    if gated:
        free += ["schedulingGates", "nodeSelector", "affinity"]
    for field in free:
        part.pop(field, None)
    for field in ("containers", "initContainers"):
        for container in part.get(field) or ():
            container.pop("image", None)
    return part

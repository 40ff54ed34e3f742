"""Treats pods as the API server does: defaults, admission of priorities, rules for changes, and deletion.

The module does only what a scheduler, a kubelet or kubectl can notice. Rules and messages follow ``pkg/apis/core``
and ``pkg/registry/core/pod`` of Kubernetes.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.store import Store, decode, time_text

Object = dict[str, Any]

DEFAULT_SCHEDULER = "default-scheduler"

_DEFAULT_SECONDS = 30

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
    """Check the types in a pod's ``spec``, and that it has containers with names.

    Raises ``ApiError`` 400 or 422 if the pod is invalid.
    """
    name = pod["metadata"].get("name", "")
    try:
        spec = msgspec.convert(pod.get("spec") or {}, _PodSpec)
    except msgspec.ValidationError as error:
        raise errors.bad_request(f"Pod in version v1 cannot be handled as a Pod: spec: {error}") from None
    causes = []
    if not spec.containers:
        causes.append(errors.make_required_cause("spec.containers"))
    seen: set[str] = set()
    for index, container in enumerate(spec.containers or []):
        field = f"spec.containers[{index}].name"
        if not container.name:
            causes.append(errors.make_required_cause(field))
        elif container.name in seen:
            causes.append(errors.Cause(field, "FieldValueDuplicate", f'Duplicate value: "{container.name}"'))
        seen.add(container.name)
    if causes:
        raise errors.invalid("Pod", "", name, causes)


def set_defaults(pod: Object) -> None:
    """Set the API server's defaults, as far as they can matter for scheduling."""
    spec = pod["spec"]
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.setdefault("resources", {})
            if limits := resources.get("limits"):
                # If a container states a limit and no request, its request is the limit.
                resources["requests"] = {**limits, **(resources.get("requests") or {})}


def admit_priority(pod: Object, store: Store) -> None:
    """Set ``spec.priority`` from the pod's priority class, or else from the global default class, or else to 0.

    Raises ``ApiError`` 403 if the class does not exist, or contradicts the pod.
    """
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
    """Return the status of a new pod, which is pending, with its quality-of-service class."""
    status: Object = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        blocked = "Scheduling is blocked due to non-empty scheduling gates"
        gated = {"status": "False", "reason": "SchedulingGated", "message": blocked}
        set_conditions(status, PodScheduled={**gated, "lastProbeTime": None, "lastTransitionTime": None})
    return status


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, judged by cpu and memory of all containers."""
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
    """Restore fields that admission had set, if an update leaves them out."""
    for field in ("priority", "preemptionPolicy", "priorityClassName", "nodeName"):
        if field in before["spec"]:
            pod["spec"].setdefault(field, before["spec"][field])


def validate_update(pod: Object, before: Object) -> None:
    """Refuse changes of the parts of ``spec`` that must not change. Raises ``ApiError`` 422 to refuse a change."""
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
    """Return ``spec`` without the fields that may change; a gated pod may also change which nodes it allows."""
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


# --- conditions ---------------------------------------------------------------------------------------------


def condition_of(obj: Object, kind: str) -> str:
    """Return the status of the condition ``kind`` of a pod or node, or "" if it has no such condition."""
    given = (obj.get("status") or {}).get("conditions") or ()
    return next((str(each.get("status", "")) for each in given if each.get("type") == kind), "")


def set_conditions(status: Object, **conditions: Object) -> None:
    """Set conditions, which replace those of the same types."""
    kept = (each for each in status.get("conditions") or () if each.get("type") not in conditions)
    status["conditions"] = [*kept, *({"type": kind, **given} for kind, given in conditions.items())]


# --- deletion of pods ---------------------------------------------------------------------------------------
# As in ``CheckGracefulDelete`` of pods and ``ShouldDeleteDuringUpdate`` of the generic registry.


def grace_period(pod: Object, wanted: int | None) -> int:
    """Return how many seconds a pod stays if it is deleted now.

    ``wanted`` is the number of seconds that the request states. A pod that never had a node, or that has ended, is
    removed at once.
    """
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    usual = pod["spec"].get("terminationGracePeriodSeconds")
    return wanted if wanted is not None else _DEFAULT_SECONDS if usual is None else int(usual)


def begin_to_end(obj: Object, seconds: int, now: float) -> bool:
    """Mark an object as being deleted in ``seconds``; return whether that changes the object.

    A second request may shorten the remaining time, and never lengthens it.
    """
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds", 0) <= seconds:
        return False
    metadata["deletionTimestamp"] = time_text(now + seconds)
    metadata["deletionGracePeriodSeconds"] = seconds
    return True


def is_over(obj: Object) -> bool:
    """Return whether a deleted object can be removed: its grace period is over, and it has no finalizers."""
    metadata = obj["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("deletionGracePeriodSeconds")
        and not metadata.get("finalizers")
    )

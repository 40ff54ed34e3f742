"""What kube-apiserver 1.36 refuses in the spec of a pod (``pkg/apis/core/validation``), as far as examples use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from poseidon.kube.parsing.quantities import milli_units

Object = Mapping[str, Any]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_POD_FIELDS = frozenset(
    [
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "schedulingGroup",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    ]
)
_CONTAINER_FIELDS = frozenset(
    [
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    ]
)
_NATIVE = ("cpu", "memory", "ephemeral-storage")


def pod_faults(spec: Object, field: str, others: Sequence[Object]) -> Iterator[str]:
    """Yield why a pod with this spec would be refused."""
    for name in sorted(spec.keys() - _POD_FIELDS):
        yield f"{field}.{name}: unknown field"
    if not spec.get("containers"):
        yield f"{field}.containers: is required"
    names: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or ()):
            where = f"{field}.{group}[{index}]"
            yield from _container(container, where)
            if container.get("name") in names:
                yield f"{where}.name: duplicate value"
            names.add(container.get("name"))
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    if port.get("hostPort", port["containerPort"]) != port["containerPort"]:
                        yield f"{where}.ports: must match containerPort when hostNetwork is true"
    yield from _resources(spec.get("resources") or {}, f"{field}.resources")
    yield from _volumes(spec.get("volumes") or (), f"{field}.volumes")
    yield from _rules(spec, field)
    yield from _admission(spec, field, others)


def _container(container: Object, field: str) -> Iterator[str]:
    for name in sorted(container.keys() - _CONTAINER_FIELDS):
        yield f"{field}.{name}: unknown field"
    if not _LABEL.fullmatch(container.get("name") or ""):
        yield f"{field}.name: {container.get('name')!r} is no name"
    if not container.get("image"):
        yield f"{field}.image: is required"
    for port in container.get("ports") or ():
        for name in ("containerPort", "hostPort"):
            if name in port and not 0 < port[name] < 65536:
                yield f"{field}.ports.{name}: must be between 1 and 65535"
        if "containerPort" not in port:
            yield f"{field}.ports.containerPort: is required"
    yield from _resources(container.get("resources") or {}, f"{field}.resources")


def _resources(resources: Object, field: str) -> Iterator[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, value in requests.items():
        limit = limits.get(name)
        if name not in _NATIVE and "/" not in name and not name.startswith("hugepages-"):
            yield f"{field}.requests[{name}]: must be a standard resource, or fully qualified"
        if limit is not None and milli_units(value) > milli_units(limit):
            yield f"{field}.requests[{name}]: must be at most the limit"
        if name not in _NATIVE:
            if limit is None:
                yield f"{field}.limits[{name}]: must be set, as the resource cannot be overcommitted"
            elif milli_units(value) != milli_units(limit):
                yield f"{field}.requests[{name}]: must equal the limit, as the resource cannot be overcommitted"
            if milli_units(value) % 1000:
                yield f"{field}.requests[{name}]: must be an integer"


def _volumes(volumes: Sequence[Object], field: str) -> Iterator[str]:
    names: set[str] = set()
    for volume in volumes:
        name = volume.get("name") or ""
        if not _LABEL.fullmatch(name) or name in names:
            yield f"{field}: {name!r} is no name, or given twice"
        names.add(name)
        if len(volume) != 2:
            yield f"{field}[{name}]: must specify one volume type"
        if "persistentVolumeClaim" in volume and not volume["persistentVolumeClaim"].get("claimName"):
            yield f"{field}[{name}].persistentVolumeClaim.claimName: is required"
        if "ephemeral" in volume:
            claim = (volume["ephemeral"].get("volumeClaimTemplate") or {}).get("spec") or {}
            if not claim.get("accessModes"):
                yield f"{field}[{name}].ephemeral: accessModes is required"
            if "storage" not in ((claim.get("resources") or {}).get("requests") or {}):
                yield f"{field}[{name}].ephemeral: a request of storage is required"


def _rules(spec: Object, field: str) -> Iterator[str]:
    for constraint in spec.get("topologySpreadConstraints") or ():
        if not (constraint.get("maxSkew") or 0) > 0 or not constraint.get("topologyKey"):
            yield f"{field}.topologySpreadConstraints: maxSkew and topologyKey are required"
        when = constraint.get("whenUnsatisfiable")
        if when not in ("DoNotSchedule", "ScheduleAnyway"):
            yield f"{field}.topologySpreadConstraints.whenUnsatisfiable: {when!r} is unknown"
        if "minDomains" in constraint and when != "DoNotSchedule":
            yield f"{field}.topologySpreadConstraints.minDomains: only with DoNotSchedule"
    yield from _affinity(spec, field)
    for toleration in spec.get("tolerations") or ():
        yield from _toleration(toleration, f"{field}.tolerations")


def _affinity(spec: Object, field: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = (spec.get("affinity") or {}).get(kind) or {}
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in preferred:
            if not 1 <= (term.get("weight") or 0) <= 100:
                yield f"{field}.affinity.{kind}: weights are 1 to 100"
        terms = [
            *(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(each.get("podAffinityTerm") or {} for each in preferred),
        ]
        if not all(term.get("topologyKey") for term in terms):
            yield f"{field}.affinity.{kind}: topologyKey is required"


def _toleration(toleration: Object, field: str) -> Iterator[str]:
    operator = toleration.get("operator", "Equal")
    if operator not in ("Exists", "Equal", "Lt", "Gt"):
        yield f"{field}.operator: {operator!r} is unknown"
    if operator == "Exists" and toleration.get("value"):
        yield f"{field}: value must be empty when operator is Exists"
    if operator != "Exists" and not toleration.get("key"):
        yield f"{field}: operator must be Exists when key is empty"


def _admission(spec: Object, field: str, others: Sequence[Object]) -> Iterator[str]:
    """Admission plug-ins: the priority is that of the class, the overhead that of the RuntimeClass."""
    named = {(each["kind"], each["metadata"]["name"]): each for each in others}
    wanted = spec.get("priorityClassName") or ""
    chosen = named.get(("PriorityClass", wanted))
    if wanted and chosen is None and not wanted.startswith("system-"):
        yield f"{field}.priorityClassName: no PriorityClass {wanted!r} was found"
    value = chosen["value"] if chosen is not None else 0
    if not wanted.startswith("system-") and spec.get("priority", value) != value:
        yield f"{field}.priority: must not be given; the class {wanted!r} says {value}"
    runtime = named.get(("RuntimeClass", spec.get("runtimeClassName") or ""), {})
    if spec.get("runtimeClassName") and not runtime:
        yield f"{field}.runtimeClassName: no RuntimeClass {spec['runtimeClassName']!r} was found"
    given = spec.get("overhead")
    if given is not None and given != (runtime.get("overhead") or {}).get("podFixed"):
        yield f"{field}.overhead: must be that of the RuntimeClass"

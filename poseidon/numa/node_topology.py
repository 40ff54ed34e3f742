"""Translates NodeResourceTopology objects into records for cost models that align tasks with NUMA zones.

The module reads only the fields that scheduler-plugins' NodeResourceTopologyMatch reads. Policy and scope come from
the first of the deprecated ``topologyPolicies``; attributes override each of them. Zones are those of type Node
called ``node-<number>``, 0 to 63. Values that the plugin would skip are skipped and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from poseidon.custom_records import CustomResource, Reading
from poseidon.kube.api.collections import NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1
from poseidon.kube.api.metadata import Number, seconds
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology, Zone
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import QuantityError, milli_units, whole_units
from poseidon.lifecycle.phases import PodRecord
from poseidon.numa.fingerprints import of_hashes, pod_hash
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb

RECORD_KIND = "NodeResourceTopology"

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
LARGEST_MAX_ZONES = 1024
MOST_ZONES = 64

POLICY, SCOPE, MAX_ZONES = "topologyManagerPolicy", "topologyManagerScope", "topologyManagerMaxNUMANodes"
FINGERPRINT, FINGERPRINT_METHOD = "nodeTopologyPodsFingerprint", "nodeTopologyPodsFingerprintMethod"

EXCLUSIVE = "with-exclusive-resources"
"""The fingerprint method that leaves out pods without exclusive resources."""

LATEST = 8
"""Number of a node's latest pods that may be missing in a fingerprint that is still recognised."""

_DEPRECATED = re.compile(r"(SingleNUMANode|Restricted|BestEffort)(Container|Pod)Level", re.ASCII)
_DEPRECATED_POLICIES = {
    "SingleNUMANode": "single-numa-node",
    "Restricted": "restricted",
    "BestEffort": "best-effort",
}
_ZONE_NAME = re.compile(r"node-(\d{1,9})", re.ASCII)


def topology_record(found: NodeResourceTopology) -> tuple[dict[str, Any], tuple[Defect, ...]]:
    """Return the record of a NodeResourceTopology for the solver, as JSON values, and the defects of the object."""
    defects: list[Defect] = []
    record: dict[str, Any] = {"policy": POLICIES[0], "scope": SCOPES[0]}
    _read_deprecated(found, record, defects)
    for attribute in found.attributes:
        _read_attribute(attribute.name, attribute.value, record, defects)
    times = [seconds(each.time) for each in found.metadata.managed_fields]
    known = [time for time in times if time is not None]
    if known:
        record["updated"] = max(known)
    record["zones"] = _zones(found.zones, defects)
    return record, tuple(defects)


class CountedPod(NamedTuple):
    """A pod on a node, for fingerprints: uid, ``namespace/name`` and class."""

    uid: str
    name: str
    task_class: pb.TaskClass


def make_record(
    found: NodeResourceTopology, on_node: Callable[[], Sequence[CountedPod]]
) -> tuple[bytes, tuple[Defect, ...]]:
    """Return the JSON of a NodeResourceTopology's record for the solver, and the object's faults.

    ``on_node`` returns the pods on the node in order of arrival. If the object states the fingerprint of these pods
    without a few of the latest, the record names these latest pods as missing.
    """
    record, defects = topology_record(found)
    stated, method = record.pop("fingerprint", ""), record.pop("fingerprintMethod", "")
    if stated:
        devices = devices_of(found)
        pods = [each for each in on_node() if method != EXCLUSIVE or has_exclusive(each.task_class, devices)]
        missing = _missing(stated, pods)
        if missing is not None:
            record["missing"] = missing
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode(), defects


def _missing(stated: str, pods: Sequence[CountedPod]) -> list[str] | None:
    """Return the uids of the latest pods that a stated fingerprint lacks.

    None if the fingerprint does not match the other pods.
    """
    hashes = [pod_hash(*each.name.split("/", 1)) for each in pods]
    for missing in range(min(LATEST, len(pods)) + 1):
        counted = len(pods) - missing
        if of_hashes(hashes[:counted]) == stated:
            return [each.uid for each in pods[counted:]]
    return None


def _read_deprecated(found: NodeResourceTopology, record: dict[str, Any], defects: list[Defect]) -> None:
    if not found.topology_policies:
        return
    word = found.topology_policies[0]
    match = _DEPRECATED.fullmatch(word)
    if match is None:
        if word != "None":
            defects.append(Defect("topologyPolicies[0]", f"{word!r} is not a known policy; it is ignored"))
        return
    record["policy"] = _DEPRECATED_POLICIES[match[1]]
    record["scope"] = match[2].lower()


def _read_attribute(name: str, value: str, record: dict[str, Any], defects: list[Defect]) -> None:
    """Add an attribute to the record; a value that scheduler-plugins does not know is a defect."""
    where = f"attributes[{name}]"
    if name in (POLICY, SCOPE):
        key, allowed = ("policy", POLICIES) if name == POLICY else ("scope", SCOPES)
        if value in allowed:
            record[key] = value
        else:
            defects.append(Defect(where, f"{value!r} is not one of {', '.join(allowed)}; it is ignored"))
    elif name == MAX_ZONES:
        if re.fullmatch(r"\d{1,9}", value, re.ASCII) and int(value) > 1:
            record["maxNUMANodes"] = min(int(value), LARGEST_MAX_ZONES)
        else:
            defects.append(Defect(where, f"{value!r} is not a whole number above 1; it is ignored"))
    elif name == FINGERPRINT:
        record["fingerprint"] = value
    elif name == FINGERPRINT_METHOD:
        record["fingerprintMethod"] = value


def _zones(zones: Iterable[Zone], defects: list[Defect]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for zone in zones:
        if zone.type != "Node":
            continue
        where = f"zones[{zone.name}]"
        number = _number(zone.name)
        if number is None:
            problem = f"is not called node-<number>, 0 to {MOST_ZONES - 1}; the zone is ignored"
            defects.append(Defect(where, problem))
        elif number in found:
            defects.append(Defect(where, "is given twice; the second is ignored"))
        else:
            if not zone.resources:
                defects.append(Defect(where, "has no resources; nothing that asks for any fits there"))
            found[number] = {
                "id": number,
                "costs": _costs(zone, where, defects),
                "resources": _resources(zone, where, defects),
            }
    return [found[number] for number in sorted(found)]


def _number(name: str) -> int | None:
    match = _ZONE_NAME.fullmatch(name)
    number = int(match[1]) if match else MOST_ZONES
    return number if number < MOST_ZONES else None


def _costs(zone: Zone, where: str, defects: list[Defect]) -> dict[str, int]:
    costs = {}
    for cost in zone.costs:
        number = _number(cost.name)
        if number is None:
            continue
        amount = _amount("", cost.value, f"{where}.costs[{cost.name}]", defects)
        if amount is not None:
            costs[str(number)] = amount
    return costs


def _resources(zone: Zone, where: str, defects: list[Defect]) -> dict[str, dict[str, int]]:
    resources = {}
    for each in zone.resources:
        path = f"{where}.resources[{each.name}]"
        if not each.name or each.available is None:
            defects.append(Defect(path, "names no resource, or not what is available; it is ignored"))
            continue
        written = (
            ("available", each.available),
            ("allocatable", each.allocatable),
            ("capacity", each.capacity),
        )
        amounts = {
            key: amount
            for key, value in written
            if value is not None
            and (amount := _amount(each.name, value, f"{path}.{key}", defects)) is not None
        }
        if "available" in amounts:
            resources[each.name] = amounts
    return resources


def _amount(resource: str, value: Number, where: str, defects: list[Defect]) -> int | None:
    """Return an amount in the protocol's unit; 0 for a negative amount, None for a malformed one."""
    try:
        amount = milli_units(value) if resource == "cpu" else whole_units(value)
    except QuantityError as error:
        defects.append(Defect(where, f"{error}; it is ignored"))
        return None
    if amount < 0:
        defects.append(Defect(where, f"{value!r} is negative; it counts as 0"))
    return max(amount, 0)


def devices_of(found: NodeResourceTopology) -> frozenset[str]:
    """Return the resources of an object's zones that are neither cpu, memory nor huge pages."""
    names = {each.name for zone in found.zones for each in zone.resources}
    return frozenset(name for name in names if not _is_native(name))


def has_exclusive(task_class: pb.TaskClass, devices: frozenset[str]) -> bool:
    """Return whether tasks of a class have exclusive resources.

    Exclusive resources are any of ``devices`` and, for tasks of QoS class Guaranteed, whole CPUs, memory and huge
    pages. Devices of init containers count only for Guaranteed tasks: exporters ask the kubelet, which lists the
    devices of running containers.
    """
    guaranteed = task_class.qos == "Guaranteed"
    for container in task_class.containers:
        lists_devices = guaranteed or container.kind != pb.Container.INIT
        for each in container.requests:
            if each.amount and each.resource in devices and lists_devices:
                return True
            whole = each.resource != "cpu" or each.amount % 1000 == 0
            if each.amount and guaranteed and _is_native(each.resource) and whole:
                return True
    return False


def _is_native(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def node_topology_resource(
    on_node: Callable[[str], Sequence[PodRecord]], classes: ClassTable
) -> CustomResource[NodeResourceTopology]:
    """Return the kind of records for NodeResourceTopologies; ``on_node`` returns a node's pods in order of arrival."""

    def pods(node: str) -> list[CountedPod]:
        return [
            CountedPod(each.task.uid, each.task.name, classes.message(each.task.task_class))
            for each in on_node(node)
        ]

    def read(found: NodeResourceTopology) -> Reading:
        name = found.metadata.name
        return Reading(name, *make_record(found, lambda: pods(name)))

    return CustomResource(RECORD_KIND, (NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1), read)

"""Reads HAMi's parts of GPUs as devices that claims share, and writes them as HAMi's device plugin expects.

In HAMi, a node's annotation lists its GPUs, a pod's limits request parts of them, and an annotation of the pod states
the parts that it has. This module translates GPUs into devices with capacities of the driver ``hami.io``, and a pod's
limits into a claim. The solver therefore chooses parts of GPUs like any device.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from poseidon.devices.sharing.node_devices import NodeDevices, build_allocation, build_slice
from poseidon.kube.api.devices import Json
from poseidon.kube.api.pods import Container, Pod
from poseidon.kube.parsing import strict_json
from poseidon.kube.parsing.quantities import QuantityError, amount

DRIVER = "hami.io"
INVENTORY = "hami.io/node-nvidia-register"
ALLOCATED, TO_ALLOCATE = "hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate"
NODE, BIND_TIME, BIND_PHASE = "hami.io/vgpu-node", "hami.io/bind-time", "hami.io/bind-phase"
ALLOCATING = "allocating"
COUNT, MEMORY, SHARE, CORES = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
)
SELECTOR = f'device.driver == "{DRIVER}"'
RESOURCES = frozenset({COUNT, MEMORY, SHARE, CORES})
"""Resources that pods state as limits; nodes need not have them among their own resources."""
_WHOLE = 1_000
"""Amount of the capacity ``whole`` of a GPU.

A part with all cores takes the whole amount; any other part takes 1. No other part therefore fits beside a part with
all cores.
"""
_TYPE = "NVIDIA"


_CHOICES = (
    ("nvidia.com/use-gputype", "type", True),
    ("nvidia.com/nouse-gputype", "type", False),
    ("nvidia.com/use-gpuuuid", "uuid", True),
    ("nvidia.com/nouse-gpuuuid", "uuid", False),
)
"""Annotations by which pods choose GPUs, the attribute of each, and whether the pod wants (or excludes) it."""
_MODE, _ONE_NUMA_NODE = "nvidia.com/vgpu-mode", "nvidia.com/numa-bind"
_ORDER = "hami.io/gpu-scheduler-policy"
_ORDERS = frozenset({"binpack", "spread"})
ANNOTATIONS = (
    *(INVENTORY, ALLOCATED, TO_ALLOCATE, NODE, BIND_TIME, BIND_PHASE, _MODE, _ONE_NUMA_NODE, _ORDER),
    *(key for key, _, _ in _CHOICES),
)
"""All of HAMi's annotations of nodes and pods about parts of GPUs."""


class Gpu(NamedTuple):
    """A GPU that a node's annotation lists."""

    id: str
    """Uuid of the GPU."""
    slots: int
    """Number of containers that may have a part of the GPU."""
    memory: int
    """The GPU's memory in MiB."""
    cores: int
    """The GPU's cores in percent."""
    model: str
    """The GPU's model, as the vendor names it."""
    numa: int = 0
    """The GPU's NUMA node."""
    mode: str = ""
    """The way in which the GPU is shared, such as ``hami-core``."""


class GpuPart(NamedTuple):
    """The part of a GPU that a container has: memory in MiB, cores in percent."""

    id: str
    memory: int
    cores: int


# --- nodes ------------------------------------------------------------------------------------------------------------


def read_inventory(text: str) -> list[Gpu]:
    """Return the healthy GPUs that a node's annotation lists, as JSON or in the older form; raises ``ValueError``."""
    if text.lstrip().startswith("["):
        return [
            Gpu(
                str(each["id"]),
                int(each.get("count", 1)),
                int(each.get("devmem", 0)),
                int(each.get("devcore", 100)),
                str(each.get("type", "")),
                int(each.get("numa", 0)),
                str(each.get("mode", "")),
            )
            for each in strict_json.loads(text)
            if each.get("health", True)
        ]
    found = []
    for entry in filter(None, text.split(":")):
        parts = entry.split(",")
        if len(parts) < 7:
            raise ValueError(f"{entry[:60]!r} has fewer than seven parts")
        if parts[6] == "true":
            slots, memory, cores = map(int, parts[1:4])
            found.append(Gpu(parts[0], slots, memory, cores, parts[4], int(parts[5])))
    return found


def read_devices(node: str, text: str) -> NodeDevices:
    """Return the slice of a node's GPUs by its annotation. Raises ``ValueError`` or other errors if malformed."""
    gpus = read_inventory(text) if text else []
    return NodeDevices((_describe_node(node, gpus),) if gpus else (), tuple(gpu.memory for gpu in gpus))


def _describe_node(node: str, gpus: Sequence[Gpu]) -> Json:
    devices: list[Json] = [
        {
            "name": gpu.id,
            "allowMultipleAllocations": True,
            "attributes": {
                "uuid": {"string": gpu.id},
                "type": {"string": gpu.model.upper()},
                "mode": {"string": gpu.mode},
                "numa": {"int": gpu.numa},
                "memory": {"int": gpu.memory},
            },
            "capacity": {
                name: {"value": str(value)}
                for name, value in {
                    "slots": gpu.slots,
                    "memory": gpu.memory,
                    "cores": gpu.cores,
                    "whole": _WHOLE,
                }.items()
            },
        }
        for gpu in gpus
    ]
    return build_slice(DRIVER, node, devices)


# --- pods -------------------------------------------------------------------------------------------------------------


def asks(pod: Pod) -> bool:
    """Return whether any container of a pod requests GPUs."""
    return any(_read(container, COUNT) for container in pod.spec.containers)


def describe_claim(pod: Pod, memories: Iterable[int]) -> Json:
    """Return the spec of the claim that stands for a pod's limits; ``memories``: memory of the cluster's GPUs, in MiB.

    A container that states no memory requests a percentage (by default all) of its GPU's memory, so its request has an
    alternative for each size of GPU.
    """
    sizes = sorted(set(memories))
    selectors = [{"cel": {"expression": each}} for each in _select(pod.metadata.annotations)]
    order = pod.metadata.annotations.get(_ORDER, "")
    requests = [
        _describe_request(f"c{number}", container, sizes, selectors, order if order in _ORDERS else "")
        for number, container in enumerate(pod.spec.containers)
        if _read(container, COUNT)
    ]
    constraints = []
    if pod.metadata.annotations.get(_ONE_NUMA_NODE) == "true":
        constraints = [{"requests": [each["name"]], "matchAttribute": f"{DRIVER}/numa"} for each in requests]
    return {"devices": {"requests": requests, "constraints": constraints}}


def _describe_request(
    name: str, container: Container, sizes: Sequence[int], selectors: Sequence[Json], order: str
) -> Json:
    cores = min(_read(container, CORES), 100)
    count, memory = _read(container, COUNT), _read(container, MEMORY)

    def want(of_memory: int, more: Sequence[str] = ()) -> Json:
        asked = {"slots": 1, "memory": of_memory, "cores": cores, "whole": _WHOLE if cores == 100 else 1}
        return {
            "deviceClassName": DRIVER,
            "allocationMode": "ExactCount",
            "count": count,
            "selectors": [*selectors, *({"cel": {"expression": each}} for each in more)],
            "capacity": {"requests": {key: str(value) for key, value in asked.items()}},
            **({"order": order} if order else {}),
        }

    if memory:
        return {"name": name, "exactly": want(memory)}
    percent = min(_read(container, SHARE) or 100, 100)
    options = [
        {
            "name": f"m{size}",
            **want(size * percent // 100, [f'device.attributes["{DRIVER}"].memory == {size}']),
        }
        for size in sizes
    ]
    return (
        {"name": name, "firstAvailable": options}
        if options
        else {"name": name, "exactly": want(0, ["false"])}
    )


def _read(container: Container, resource: str) -> int:
    stated = container.resources.limits.get(resource, container.resources.requests.get(resource))
    if stated is None:
        return 0
    try:
        return max(0, amount(resource, stated))
    except QuantityError:
        return 0


def _select(annotations: Mapping[str, str]) -> Iterator[str]:
    """Yield a CEL expression for each annotation by which a pod chooses GPUs."""
    device = f'device.attributes["{DRIVER}"]'
    for key, name, wanted in _CHOICES:
        named = [each.strip() for each in annotations.get(key, "").split(",") if each.strip()]
        if named:
            if name == "type":
                parts = [f"{device}.type.contains({json.dumps(each.upper())})" for each in named]
            else:
                parts = [f"{device}.uuid == {json.dumps(each)}" for each in named]
            yield " || ".join(parts) if wanted else f"!({' || '.join(parts)})"
    mode = annotations.get(_MODE, "")
    if mode:
        yield f"{device}.mode == {json.dumps(mode)}"


# --- parts that pods have -------------------------------------------------------------------------


def read_parts(text: str) -> list[list[GpuPart]]:
    """Return, by container, the parts of GPUs that a pod's annotation states; raises ``ValueError``."""
    found = []
    for container in text.split(";")[:-1] if ";" in text else [text]:
        parts = []
        for entry in filter(None, container.split(":")):
            fields = entry.split(",")
            if len(fields) < 4:
                raise ValueError(f"{entry[:60]!r} has fewer than four parts")
            parts.append(GpuPart(fields[0], int(fields[2]), int(fields[3])))
        found.append(parts)
    return found


def write_parts(parts: Iterable[Iterable[GpuPart]]) -> str:
    """Return the annotation of a pod whose containers have these parts of GPUs."""
    return "".join(
        "".join(f"{each.id},{_TYPE},{each.memory},{each.cores}:" for each in container) + ";"
        for container in parts
    )


def read_allocation(pod: Pod, uid: str, node: str) -> Json:
    """Return the allocation of a pod's claim by the pod's annotation; raises ``ValueError``."""
    return make_allocation(node, uid, read_parts(pod.metadata.annotations[ALLOCATED]))


def make_allocation(node: str, mark: str, parts: Sequence[Sequence[GpuPart]]) -> Json:
    """Return the allocation of a claim with these parts, by container; ``mark``: a unique text for share IDs."""
    results = [
        {
            "request": f"c{number}",
            "driver": DRIVER,
            "pool": node,
            "device": part.id,
            "shareID": f"{mark}/{number}/{place}",
            "consumedCapacity": {
                "slots": "1",
                "memory": str(part.memory),
                "cores": str(part.cores),
                "whole": str(_WHOLE if part.cores >= 100 else 1),
            },
        }
        for number, container in enumerate(parts)
        for place, part in enumerate(container)
    ]
    return build_allocation(node, results)


def list_parts(allocation: Json, containers: int) -> list[list[GpuPart]]:
    """Return, by container, the parts of GPUs in the allocation of a pod's claim."""
    found: list[list[GpuPart]] = [[] for _ in range(containers)]
    for each in allocation["devices"]["results"]:
        number = int(each["request"].partition("/")[0][1:])
        consumed = each.get("consumedCapacity") or {}
        part = GpuPart(
            each["device"], amount("memory", consumed["memory"]), amount("cores", consumed["cores"])
        )
        found[number].append(part)
    return found


def annotate(allocation: Json, containers: int, now: float) -> dict[str, str]:
    """Return the annotations that tell HAMi's device plugin which GPUs a pod has."""
    parts = write_parts(list_parts(allocation, containers))
    return {
        ALLOCATED: parts,
        TO_ALLOCATE: parts,
        NODE: str(allocation["devices"]["results"][0]["pool"]),
        BIND_TIME: str(int(now)),
        BIND_PHASE: ALLOCATING,
    }

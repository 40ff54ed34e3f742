"""Translates pods' requests for Koordinator's devices into claims, by the rules of its plugin ``DeviceShare``.

A pod requests a percentage of a GPU's cores, and bytes or a percentage of its memory. A claim has an alternative for
each size of GPUs, because an allocation states bytes and percent. Several GPUs come from one PCIe switch if possible,
else from one NUMA node, else from any place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from poseidon.devices.sharing.koordinator.hints import DeviceHints, RequestError, read_hints
from poseidon.devices.sharing.koordinator.inventory import (
    CORES,
    DOMAIN,
    FPGA,
    GPU,
    MEMORY,
    NUMA,
    PCIE,
    RATIO,
    RDMA,
    name_driver,
)
from poseidon.kube.api.devices import Json
from poseidon.kube.api.pods import Container, Pod
from poseidon.kube.parsing.quantities import QuantityError, amount

DRIVER = DOMAIN
SELECTOR = f'device.driver.endsWith(".{DOMAIN}")'
_PERCENT, _SHARED, _WHOLE = f"{DOMAIN}/gpu", f"{DOMAIN}/gpu.shared", "nvidia.com/gpu"
_OF_GPUS = frozenset({_PERCENT, _SHARED, _WHOLE, CORES, MEMORY, RATIO})
_OTHERS = {RDMA: f"{DOMAIN}/rdma", FPGA: f"{DOMAIN}/fpga"}
RESOURCES = _OF_GPUS.union(_OTHERS.values())
"""Resources that pods request; nodes need not have them among their own resources."""
_COMBINATIONS = frozenset(
    map(
        frozenset,
        (
            {_WHOLE},
            {_PERCENT},
            *(({memory} | more) for memory in (MEMORY, RATIO) for more in (set(), {CORES}, {_SHARED})),
            *({memory, CORES, _SHARED} for memory in (MEMORY, RATIO)),
        ),
    )
)
"""The sets of resources of GPUs that a pod may state together."""


@dataclass(slots=True)
class _Wanted:
    """A pod's request for a type of devices. ``count``: how many devices, 0 for all that match."""

    count: int
    amounts: dict[str, int]
    """The amount of each device, by this project's name of the capacity."""
    selectors: list[Json] = field(default_factory=list)


def asks(pod: Pod) -> bool:
    """Return whether any container of a pod requests devices."""
    return any(
        not RESOURCES.isdisjoint(stated)
        for each in (*pod.spec.containers, *pod.spec.init_containers)
        for stated in (each.resources.requests, each.resources.limits)
    )


def describe_claim(pod: Pod, sizes: Sequence[int]) -> Json:
    """Return the spec of the claim that stands for a pod's requests; ``sizes``: memory of the cluster's GPUs, in bytes.

    Raises ``RequestError`` for requests and annotations that Koordinator refuses, and for virtual functions, which are
    not supported.
    """
    stated = _add_up(pod)
    hints = read_hints(pod.metadata.annotations)
    wanted: dict[str, _Wanted] = {}
    gpus = {name: each for name, each in stated.items() if name in _OF_GPUS}
    if gpus:
        wanted[GPU] = _read_gpus(gpus)
    for kind, resource in _OTHERS.items():
        if resource in stated:
            wanted[kind] = _read_other(kind, resource, stated[resource], hints)
    for kind, each in wanted.items():
        texts = (f"device.driver == {json.dumps(name_driver(kind))}", *hints.list_selectors(kind))
        each.selectors = [_select(text) for text in texts]
    joint = [kind for kind in hints.joint if kind in wanted and not hints.is_for_all(kind)]
    requests, constraints = [], []
    for kind in (*joint, *(each for each in wanted if each not in joint)):
        near = wanted[joint[0]].count if kind in joint[1:] else 0
        options = (
            _list_gpus(wanted[kind], sizes, hints) if kind == GPU else _list_others(wanted[kind], near, hints)
        )
        requests.append({"name": kind, "firstAvailable": options})
        for scope, attribute in (("pcie", PCIE), ("numa", NUMA)):
            names = [f"{kind}/{each['name']}" for each in options if each["name"].startswith(scope)]
            if names:
                constraints.append({"requests": names, "matchAttribute": attribute})
        names = [f"{kind}/{each['name']}" for each in options if each["name"].startswith("near")]
        if names:
            constraints.append({"sameValues": PCIE, "requests": [joint[0]], "others": names})
    return {"devices": {"requests": requests, "constraints": constraints}}


# --- amounts ----------------------------------------------------------------------------------------------------------


def _add_up(pod: Pod) -> dict[str, int]:
    """Return a pod's requests for devices, by resource: the largest sum over containers that run at the same time."""
    running = Counter[str]()
    peak = Counter[str]()
    for each in pod.spec.init_containers:
        own = _read_stated(each)
        peak |= running + own
        if each.restart_policy == "Always":
            running += own
    for each in pod.spec.containers:
        running += _read_stated(each)
    return dict(peak | running)


def _read_stated(container: Container) -> Counter[str]:
    stated = {**container.resources.limits, **container.resources.requests}
    try:
        return Counter({name: amount(name, stated[name]) for name in RESOURCES & stated.keys()})
    except QuantityError as error:
        raise RequestError(f"container {container.name}: {error}") from None


def _read_gpus(stated: Mapping[str, int]) -> _Wanted:
    """Return how many GPUs a pod requests, and the amounts of each."""
    if frozenset(stated) not in _COMBINATIONS:
        raise RequestError(f"invalid resource device requests: [{' '.join(sorted(stated))}]")
    if _PERCENT in stated:
        _check_percent(_PERCENT, stated[_PERCENT])
    whole = stated.get(_WHOLE, 0) * 100 or stated.get(_PERCENT, 0)
    cores, ratio = stated.get(CORES, whole), stated.get(RATIO, whole)
    count = stated.get(_SHARED, 0)
    if count:
        for name, value in ((CORES, cores), (RATIO, ratio)):
            if value % count or value // count > 100:
                raise RequestError(f"invalid resource device requests: {name} {value} for {count} GPUs")
    else:
        for name, value in ((CORES, cores), (RATIO, ratio)):
            _check_percent(name, value)
        count = ratio // 100 if ratio > 100 else 1
    return _Wanted(
        count, {"cores": cores // count, "ratio": ratio // count, "memory": stated.get(MEMORY, 0) // count}
    )


def _read_other(kind: str, resource: str, value: int, hints: DeviceHints) -> _Wanted:
    _check_percent(resource, value)
    if value > 100:
        return _Wanted(value // 100, {"share": 100})
    if hints.is_for_all(kind):
        return _Wanted(0, {"share": value})
    if hints.counts(kind):
        return _Wanted(value, {"share": 100 if hints.is_exclusive(kind) else 1})
    return _Wanted(1, {"share": value})


def _check_percent(resource: str, value: int) -> None:
    if value > 100 and value % 100:
        raise RequestError(f"invalid resource unit {resource}: {value}; give up to 100, or a multiple of 100")


# --- requests ---------------------------------------------------------------------------------------------------------


def _list_gpus(wanted: _Wanted, sizes: Sequence[int], hints: DeviceHints) -> list[Json]:
    """Return the alternatives of a request for GPUs, for each level (PCIe, NUMA, any) and size of GPU."""
    return [
        _describe_option(
            f"{scope}{size}", wanted, amounts, [f'device.attributes["{DOMAIN}"].memory == {size}']
        )
        for scope in (hints.list_scopes() if wanted.count > 1 else ("any",))
        for size in sizes
        if (amounts := _convert(wanted.amounts, size)) is not None
    ] or [_describe_option("none", wanted, {}, ["false"])]


def _convert(amounts: Mapping[str, int], size: int) -> dict[str, int] | None:
    """Return the amounts taken of a GPU with ``size`` bytes of memory; None if the GPU is too small.

    Memory is stated in bytes and in percent, both rounded down as Koordinator does.
    """
    memory, ratio = amounts["memory"], amounts["ratio"]
    if not size or memory > size:
        return None
    if memory:
        return {**amounts, "ratio": memory * 100 // size}
    return {**amounts, "memory": ratio * size // 100}


def _list_others(wanted: _Wanted, near: int, hints: DeviceHints) -> list[Json]:
    """Return the alternatives of a request for a type other than GPUs.

    ``near``: number of devices of the type whose PCIe switches these devices should share; 0 if they need not share
    any.
    """
    counts = range(wanted.count, max(wanted.count, near) + 1) if near else ()
    options = [
        _describe_option(f"near{count}", _Wanted(count, wanted.amounts, wanted.selectors), wanted.amounts)
        for count in counts
    ]
    if not near or not hints.requires_same_switches:
        options.append(_describe_option("any", wanted, wanted.amounts))
    return options


def _describe_option(
    name: str, wanted: _Wanted, amounts: Mapping[str, int], more: Iterable[str] = ()
) -> Json:
    count: dict[str, Any] = {"count": wanted.count} if wanted.count else {}
    return {
        "name": name,
        "deviceClassName": DRIVER,
        "allocationMode": "ExactCount" if wanted.count else "All",
        **count,
        "selectors": [*wanted.selectors, *map(_select, more)],
        "capacity": {"requests": {key: str(value) for key, value in amounts.items()}},
    }


def _select(expression: str) -> Json:
    return {"cel": {"expression": expression}}

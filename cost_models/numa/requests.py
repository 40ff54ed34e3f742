"""The requests of tasks to NUMA zones: a vector for the pod as a whole, and one for each container.

Source: kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology. A pod requests of a resource the sum over its
containers, or the largest request of an init container if that is more, plus the runtime's overhead. In this rule,
sidecars count as init containers; with ``kubelet_sidecars`` they count as ordinary containers, which keep what they
take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, ContainerRow, Int64, ShapeBatch, ShapeRow
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.records import POLICIES
from cost_models.numa.single_zone_alignment import Alignment

HINT = "firmament.io/numa-policy"
"""Pod annotation: the weakest policy of the kubelet that the pod accepts."""

NOT_ASKED = -2
"""Threshold of a resource that is not requested: less than any amount that a zone can have."""

ALWAYS_ALLOCATABLE = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
"""Resources that every machine has, even if the amount is 0."""


def is_native(resource: str) -> bool:
    """Return whether a resource is aligned for guaranteed pods only: cpu, memory and huge pages."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def is_host_level(resource: str) -> bool:
    """Return whether a resource may well belong to no zone: storage and devices."""
    return resource in ("ephemeral-storage", "storage") or "/" in resource


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of S shapes in R resources, with at most U units and I init containers each. Read-only.

    Unit 0 is the pod as a whole; units from 1 on are its containers in order.
    """

    resources: tuple[str, ...]
    """Names of the resources."""
    apps: Int64
    """int64[S], number of containers without init containers."""
    amounts: Int64
    """int64[S, U, R], requested amounts."""
    threshold: Int64
    """int64[S, U, R], what a zone must have left at least; ``NOT_ASKED`` if the amount left does not matter."""
    taken: Int64
    """int64[S, U, R], what is subtracted from the zone."""
    init_amounts: Int64
    """int64[S, I, R], requested amounts; 0 for init containers that do not exist."""
    init_threshold: Int64
    """int64[S, I, R], as ``threshold``."""
    names: tuple[tuple[str, ...], ...]
    """Names of each shape's units, "" for the pod."""
    init_names: tuple[tuple[str, ...], ...]
    """Kind and name of each shape's init containers."""
    guaranteed: Bool
    """bool[S], whether the QoS class is Guaranteed."""
    checked: Bool
    """bool[S], whether alignment is checked; other tasks may go anywhere."""
    hint: NDArray[np.int8]
    """int8[S], the weakest accepted policy, 0 for any."""
    init_implied: Bool
    """bool[S], whether init containers need no check, because the only container requests at least as much as each of
    them.
    """

    @property
    def count(self) -> int:
        """Number of shapes: S."""
        return len(self.apps)

    def alignment(self, shapes: Int64) -> Alignment:
        """Return the requests of each container of ``shapes`` (int64[A])."""
        containers = slice(1, int(self.apps[shapes].max(initial=1)) + 1)
        return Alignment(
            threshold=_last(self.threshold[shapes, containers]),
            taken=_last(self.taken[shapes, containers]),
            init=_last(self.init_threshold[shapes]),
        )


def _last(amounts: Int64) -> Int64:
    """Turn int64[A, U, R] into a contiguous int64[U, R, A]."""
    return np.ascontiguousarray(amounts.transpose(1, 2, 0))


@dataclass(frozen=True, slots=True)
class PodRequests:
    """The requests of one shape: its containers, the pod as a whole, and whether it is guaranteed or best-effort."""

    apps: tuple[ContainerRow, ...]
    init: tuple[ContainerRow, ...]
    whole: Mapping[str, int]
    guaranteed: bool
    best_effort: bool
    hint: int


def pods_of(
    rows: Sequence[ShapeRow], requests: Int64, names: Sequence[str], options: NumaOptions
) -> list[PodRequests]:
    """Return the requests of each shape. ``requests``: int64[S, K] of the resources ``names``, for shapes without
    containers.
    """
    return [
        _pod(row, dict(zip(names, request.tolist(), strict=False)), options)
        for row, request in zip(rows, requests, strict=True)
    ]


def resources_of(pods: Sequence[PodRequests]) -> list[str]:
    """Return the names of all resources that any container or pod requests."""
    found = {name for pod in pods for name in pod.whole}
    for pod in pods:
        for container in (*pod.apps, *pod.init):
            found.update(name for name, amount in container.requests if amount > 0)
    return sorted(found)


def compile_requests(
    pods: Sequence[PodRequests], resources: tuple[str, ...], options: NumaOptions
) -> Requests:
    """Return the requests of pods as columns over ``resources``, which must name every resource that is requested."""
    units = [_units(pod, options) for pod in pods]
    amounts = _stack([each for each, _ in units], resources)
    init_amounts = _stack([init for _, init in units], resources)
    guaranteed = np.array([pod.guaranteed for pod in pods], dtype=np.bool_)
    native = np.array([is_native(name) for name in resources], dtype=np.bool_)
    enforced = (guaranteed[:, None] | ~native)[:, None, :]
    counted = ~_find_skipped(resources, guaranteed, options)[:, None, :]
    taken = np.where(counted & enforced, amounts, 0)
    threshold = np.where(counted & (amounts > 0), taken, NOT_ASKED)
    init_threshold = np.where(
        counted & (init_amounts > 0), np.where(enforced, init_amounts, 0), np.int64(NOT_ASKED)
    )
    apps = np.array([len(each) - 1 for each, _ in units], dtype=np.int64)
    init_count = np.array([len(init) for _, init in units], dtype=np.int64)
    covered = (init_threshold <= threshold[:, min(1, threshold.shape[1] - 1), None, :]).all(axis=(1, 2))
    foreign = ((amounts > 0) & ~native).any(axis=(1, 2)) | ((init_amounts > 0) & ~native).any(axis=(1, 2))
    best_effort = np.array([pod.best_effort for pod in pods], dtype=np.bool_)
    return Requests(
        resources=resources,
        apps=apps,
        amounts=amounts,
        threshold=threshold,
        taken=taken,
        init_amounts=init_amounts,
        init_threshold=init_threshold,
        names=tuple(tuple(name for name, _ in each) for each, _ in units),
        init_names=tuple(tuple(name for name, _ in init) for _, init in units),
        guaranteed=guaranteed,
        checked=~best_effort | foreign,
        hint=np.array([pod.hint if options.pod_hints else 0 for pod in pods], dtype=np.int8),
        init_implied=(init_count == 0) | ((apps == 1) & covered),
    )


def bad_hints(shapes: ShapeBatch, options: NumaOptions) -> list[str]:
    """Return a note on each annotation that names no policy."""
    if not options.pod_hints:
        return []
    values = sorted({row.annotations[HINT] for row in shapes.rows if HINT in row.annotations} - set(POLICIES))
    return [
        f"annotation {HINT} of a pod is {value[:80]!r}; it must be one of {', '.join(POLICIES)}; it is ignored"
        for value in values
    ]


def _pod(row: ShapeRow, request: Mapping[str, int], options: NumaOptions) -> PodRequests:
    """Return a shape's requests.

    A pod without known containers counts as one guaranteed container, so that it is checked.
    """
    containers = row.containers
    if not containers:
        amounts = tuple((name, amount) for name, amount in request.items() if amount > 0 and name != "pods")
        containers = (ContainerRow("", "app", amounts),)
    hint = row.annotations.get(HINT, POLICIES[0])
    return PodRequests(
        apps=tuple(each for each in containers if each.kind == "app"),
        init=tuple(each for each in containers if each.kind != "app"),
        whole=_whole(containers, row.overhead, sidecars=options.kubelet_sidecars),
        guaranteed=row.qos in ("Guaranteed", ""),
        best_effort=row.qos == "BestEffort" or not any(each.requests for each in containers),
        hint=POLICIES.index(hint) if hint in POLICIES else 0,
    )


def _whole(
    containers: Sequence[ContainerRow], overhead: Sequence[tuple[str, int]], *, sidecars: bool
) -> dict[str, int]:
    """Return max(sum of containers, largest init container) + overhead; with ``sidecars``, each counts from its start
    on.
    """
    total: dict[str, int] = {}
    peak: dict[str, int] = {}
    running: dict[str, int] = {}
    for each in containers:
        for name, amount in each.requests:
            if each.kind == "app" or (sidecars and each.kind == "sidecar"):
                total[name] = total.get(name, 0) + amount
            if sidecars and each.kind == "sidecar":
                running[name] = running.get(name, 0) + amount
            elif each.kind != "app":
                peak[name] = max(peak.get(name, 0), amount + running.get(name, 0))
    for name, amount in peak.items():
        total[name] = max(total.get(name, 0), amount)
    for name, amount in overhead:
        total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in total.items() if amount > 0}


_Named = tuple[str, Mapping[str, int]]


def _units(pod: PodRequests, options: NumaOptions) -> tuple[list[_Named], list[_Named]]:
    """Return the pod and its containers, then its init containers, each with a name and requests."""
    kept = [each for each in pod.init if options.kubelet_sidecars and each.kind == "sidecar"]
    checked = [each for each in pod.init if each not in kept]
    units: list[_Named] = [("", pod.whole)]
    units += [(each.name, dict(each.requests)) for each in (*kept, *pod.apps)]
    words = {"init": "init container", "sidecar": "sidecar container"}
    return units, [(f"{words[each.kind]}: {each.name}", dict(each.requests)) for each in checked]


def _stack(units: Sequence[Sequence[_Named]], resources: tuple[str, ...]) -> Int64:
    """Return the requests of each shape's units, padded with units without requests: int64[S, U, R]."""
    column = {name: index for index, name in enumerate(resources)}
    width = max((len(each) for each in units), default=0)
    amounts = np.zeros((len(units), width, len(resources)), dtype=np.int64)
    for shape, each in enumerate(units):
        for unit, (_, wanted) in enumerate(each):
            for name, amount in wanted.items():
                if amount > 0:
                    amounts[shape, unit, column[name]] = amount
    return amounts


def _find_skipped(resources: Sequence[str], guaranteed: Bool, options: NumaOptions) -> Bool:
    """Return which resources the proposal does not check, bool[S, R]: memory and huge pages, and cpu if a pod is not
    guaranteed.
    """
    skipped = np.zeros((len(guaranteed), len(resources)), dtype=np.bool_)
    if options.proposal:
        for column, name in enumerate(resources):
            if is_native(name):
                skipped[:, column] = ~guaranteed if name == "cpu" else True
    return skipped

"""Reads the spec of an AppGroup: its workloads, and the workloads on which each of them depends.

Two forms are in use. The CRD gives a workload a ``selector``, which its pods have as a label. The proposal (KEP 260)
gives a workload only a name, which then also is the selector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from poseidon.app_network.spec.keys import KAHN_SORT
from poseidon.app_network.spec.reading import Object, Reader
from poseidon.kube.parsing.defects import Defect

LARGEST_COST = 10_000
"""The largest value that the CRD allows for ``maxNetworkCost``."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A workload on which another workload depends, given by its ``name`` and ``selector``.

    ``min_bandwidth``: the bits per second between each pair of pods, 0 for none. ``max_network_cost``: 0 if the object
    states none, as in scheduler-plugins.
    """

    name: str
    selector: str
    min_bandwidth: int = 0
    max_network_cost: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of an application; ``selector`` is its pods' label, and the other fields describe their owner."""

    name: str
    selector: str
    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    dependencies: tuple[Dependency, ...] = ()


@dataclass(frozen=True, slots=True)
class AppGroupSpec:
    """The spec of an AppGroup: its workloads in declared order, and the name of the algorithm that orders them."""

    algorithm: str = KAHN_SORT
    workloads: tuple[Workload, ...] = ()


def read_app_group(spec: Any) -> tuple[AppGroupSpec, tuple[Defect, ...]]:
    """Return the usable content of a spec, and all of its defects.

    Workloads without a name, and those whose name or selector is repeated, are left out. Malformed amounts count as
    missing. As in scheduler-plugins, a dependency on an undeclared workload is kept, as a workload without
    dependencies.
    """
    reader = Reader()
    given = reader.mapping(spec, "spec", needed=True)
    reader.count(given, "numMembers", "spec", least=1)
    algorithm = reader.text(given, "topologySortingAlgorithm", "spec") or KAHN_SORT
    declared: list[tuple[Workload, Object, str]] = []
    names: set[str] = set()
    selectors: set[str] = set()
    for each, where in reader.items(given.get("workloads"), "spec.workloads"):
        workload = _workload(reader, each, f"{where}.workload")
        if workload is None:
            continue
        if workload.name in names or workload.selector in selectors:
            problem = f"{workload.name!r} is declared twice, by name or selector; the second is ignored"
            reader.note(f"{where}.workload", problem)
            continue
        names.add(workload.name)
        selectors.add(workload.selector)
        declared.append((workload, each, where))
    if isinstance(spec, Mapping) and not declared:
        reader.note("spec.workloads", "empty; declare at least one workload")
    # A name takes precedence over an equal selector of another workload.
    known = {each.selector: each for each, _, _ in declared} | {each.name: each for each, _, _ in declared}
    workloads = tuple(
        _add_dependencies(reader, workload, each, where, known) for workload, each, where in declared
    )
    return AppGroupSpec(algorithm, workloads), tuple(reader.defects)


def _workload(reader: Reader, parent: Object, path: str) -> Workload | None:
    given = reader.mapping(parent.get("workload"), path, needed=True)
    name = reader.text(given, "name", path)
    selector = reader.text(given, "selector", path)
    if not name and not selector:
        if given:
            reader.note(path, "has neither name nor selector; the workload is ignored")
        return None
    return Workload(
        name=name or selector,
        selector=selector or name,
        kind=reader.text(given, "kind", path),
        api_version=reader.text(given, "apiVersion", path),
        namespace=reader.text(given, "namespace", path),
    )


def _add_dependencies(
    reader: Reader, workload: Workload, given: Object, path: str, known: Mapping[str, Workload]
) -> Workload:
    dependencies = []
    for each, where in reader.items(given.get("dependencies"), f"{path}.dependencies"):
        found = _workload(reader, each, f"{where}.workload")
        if found is None:
            continue
        target = known.get(found.name) or known.get(found.selector)
        if target is None:
            reader.note(f"{where}.workload", f"{found.name!r} is no workload of this AppGroup; declare it")
        elif found.selector not in (target.selector, target.name):
            problem = f"{found.selector!r} is not the selector of {target.name!r}; write {target.selector!r}"
            reader.note(f"{where}.workload.selector", problem)
        target = target or found
        dependencies.append(
            Dependency(
                name=target.name,
                selector=target.selector,
                min_bandwidth=reader.bandwidth(each, "minBandwidth", where) or 0,
                max_network_cost=reader.count(each, "maxNetworkCost", where, most=LARGEST_COST) or 0,
            )
        )
    return replace(workload, dependencies=tuple(dependencies))

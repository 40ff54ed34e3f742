"""Finds pods with far more rules or resources than a solver accepts, before these are translated.

A pod of a megabyte takes half a second to translate, and the solver would only set it aside. The limits are the
solver's (docs/placement-rules.md). The solver counts equal terms once, so this module refuses a pod only if it has
more than twice as many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from poseidon.kube.api.metadata import Resources
from poseidon.kube.api.pod_rules import LabelSelector, NodeSelectorTerm, PodAffinityTerm
from poseidon.kube.api.pods import PodSpec, ResourceRequirements

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "resources in requests": 128,
        "labels in the node selector": 500,
        "terms of node affinity and volumes": 500,
        "tolerations": 1_000,
        "terms of pod affinity and anti-affinity": 100,
        "topology spread constraints": 16,
        "expressions in selectors": 500,
        "values in selectors": 20_000,
    }
)
"""The largest numbers of a pod's parts, such as containers, by the names that texts use for them."""


_ALWAYS_READ = frozenset({"cpu", "memory", "ephemeral-storage"})


def describe_excess(spec: PodSpec) -> str:
    """Return what a pod has far too many of, and what to do; "" for nothing."""
    for what, count in _count_each(spec):
        if count > 2 * LIMITS[what]:
            return f"the pod has {count} {what}; at most {LIMITS[what]} are supported, use fewer"
    return ""


def keep_few_resources(spec: PodSpec) -> PodSpec:
    """Return a spec with few resources: if the spec names far too many, most of them are dropped.

    The result contains the resources that every node has, and the first of the other resources by name, up to the
    limit.
    """
    most = LIMITS["resources in requests"]
    if _count_entries(spec) <= 2 * most or len(names := _list_resources(spec)) <= 2 * most:
        return spec
    kept = _ALWAYS_READ.union(sorted(names - _ALWAYS_READ)[:most])

    def cut(resources: ResourceRequirements) -> ResourceRequirements:
        return replace(
            resources,
            requests={name: resources.requests[name] for name in kept & resources.requests.keys()},
            limits={name: resources.limits[name] for name in kept & resources.limits.keys()},
        )

    return replace(
        spec,
        containers=tuple(replace(each, resources=cut(each.resources)) for each in spec.containers),
        init_containers=tuple(replace(each, resources=cut(each.resources)) for each in spec.init_containers),
        resources=cut(spec.resources),
        overhead={name: spec.overhead[name] for name in kept & spec.overhead.keys()},
    )


def _list_resource_maps(spec: PodSpec) -> Iterator[Resources]:
    for container in (*spec.containers, *spec.init_containers):
        yield container.resources.requests
        yield container.resources.limits
    yield spec.resources.requests
    yield spec.resources.limits
    yield spec.overhead


def _count_entries(spec: PodSpec) -> int:
    return sum(map(len, _list_resource_maps(spec)))


def _list_resources(spec: PodSpec) -> set[str]:
    return set().union(*_list_resource_maps(spec))


def _count_each(spec: PodSpec) -> Iterator[tuple[str, int]]:
    """Yield the name of each limit, and how many a pod has; numbers that take long to count come last."""
    what = "resources in requests"
    yield what, len(_list_resources(spec)) if _count_entries(spec) > 2 * LIMITS[what] else 0
    yield "labels in the node selector", len(spec.node_selector)
    yield "tolerations", len(spec.tolerations)
    yield "topology spread constraints", len(spec.topology_spread_constraints)
    on_nodes, on_pods = list(_list_node_terms(spec)), list(_list_pod_terms(spec))
    yield "terms of node affinity and volumes", len(on_nodes)
    yield "terms of pod affinity and anti-affinity", len(on_pods)
    selectors = [each.label_selector for each in on_pods]
    selectors += [each.namespace_selector for each in on_pods]
    selectors += [each.label_selector for each in spec.topology_spread_constraints]
    given = [selector for selector in selectors if selector is not None]
    expressions = sum(len(each.match_expressions) + len(each.match_fields) for each in on_nodes)
    yield "expressions in selectors", expressions + sum(map(_count_expressions, given))
    values = sum(
        len(one.values) for each in on_nodes for one in (*each.match_expressions, *each.match_fields)
    )
    values += sum(len(one.values) for each in given for one in each.match_expressions)
    yield "values in selectors", values + sum(len(each.namespaces) for each in on_pods)


def _count_expressions(selector: LabelSelector) -> int:
    return len(selector.match_labels) + len(selector.match_expressions)


def _list_node_terms(spec: PodSpec) -> Iterator[NodeSelectorTerm]:
    rules = None if spec.affinity is None else spec.affinity.node_affinity
    if rules is not None:
        if rules.required is not None:
            yield from rules.required.node_selector_terms
        yield from (each.preference for each in rules.preferred)


def _list_pod_terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    if spec.affinity is None:
        return
    for rules in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if rules is not None:
            yield from rules.required
            yield from (each.pod_affinity_term for each in rules.preferred)

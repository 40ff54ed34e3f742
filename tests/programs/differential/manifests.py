"""Kubernetes manifests, as ``benchmarks.judge`` draws them, in the words of the differential tests' world.

Written without a look at ``poseidon``'s translation. Preferences are left out, for no check needs them, and so are
priorities. A field that this module does not know is an error rather than passed over. Storage is told in words that
the world has, see ``manifest_storage``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.programs.differential.manifest_storage import EVERYWHERE, Storage
from tests.programs.differential.manifest_words import Object, amounts, node_term, only, selector
from tests.programs.differential.world import (
    Case,
    Cluster,
    HostPort,
    Node,
    NodeTerm,
    Pod,
    PodSpec,
    PodTerm,
    Requirement,
    Spread,
    Taint,
    Toleration,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WITHOUT_EFFECT = {"priorityClassName", "runtimeClassName", "schedulerName", "terminationGracePeriodSeconds"}
_POD = _WITHOUT_EFFECT | {
    *("containers", "initContainers", "overhead", "volumes", "nodeName", "nodeSelector", "tolerations"),
    *("affinity", "topologySpreadConstraints", "schedulingGates"),
}
_NODE = {"taints", "unschedulable"}
_POD_TERM = {
    *("topologyKey", "labelSelector", "namespaces", "namespaceSelector"),
    *("matchLabelKeys", "mismatchLabelKeys"),
}
_CONSTRAINT = {
    *("topologyKey", "labelSelector", "maxSkew", "whenUnsatisfiable", "minDomains", "matchLabelKeys"),
    *("nodeAffinityPolicy", "nodeTaintsPolicy"),
}


def case_of(seed: int, objects: Iterable[Object]) -> Case:
    """Nodes, namespaces, storage and pods as a case; uids are ``namespace/name``, equal specs share a name."""
    by_kind: dict[str, list[Object]] = {}
    for each in objects:
        by_kind.setdefault(each["kind"], []).append(each)
    storage = Storage(by_kind)
    nodes = [_node(each, storage) for each in by_kind.get("Node", ())]
    namespaces = {
        each["metadata"]["name"]: dict(each["metadata"].get("labels", {}))
        for each in by_kind.get("Namespace", ())
    }
    case = Case(seed, Cluster({node.name: node for node in nodes}, {}, namespaces), {})
    names: dict[str, str] = {}
    for each in by_kind.get("Pod", ()):
        uid = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        spec = _pod_spec(each, storage)
        spec = replace(spec, name=names.setdefault(repr(spec), uid))
        if node := each["spec"].get("nodeName"):
            case.cluster.pods[uid] = Pod(spec, node)
        else:
            case.waiting[uid] = spec
    return case


# --- nodes -----------------------------------------------------------------------------------------------------------


def _node(each: Object, storage: Storage) -> Node:
    only(each["spec"], _NODE)
    name, labels = each["metadata"]["name"], dict(each["metadata"].get("labels", {}))
    ready = next(one["status"] for one in each["status"]["conditions"] if one["type"] == "Ready")
    node = Node(
        name,
        amounts(each["status"]["allocatable"]),
        {**labels, EVERYWHERE: ""},
        tuple(
            Taint(one["key"], one.get("value", ""), one["effect"]) for one in each["spec"].get("taints", ())
        ),
        unschedulable=each["spec"].get("unschedulable", False),
        not_ready=ready != "True",
        features=frozenset(each["status"].get("declaredFeatures", ())),
    )
    return replace(node, allocatable={**node.allocatable, **storage.room(node)})


# --- pods ------------------------------------------------------------------------------------------------------------


def _pod_spec(each: Object, storage: Storage) -> PodSpec:
    metadata, spec = each["metadata"], each["spec"]
    only(spec, _POD)
    namespace, labels = metadata["namespace"], dict(metadata.get("labels", {}))
    affinity = spec.get("affinity", {})
    only(affinity, {"nodeAffinity", "podAffinity", "podAntiAffinity"})
    used = storage.used_by(namespace, spec)
    return PodSpec(
        "",
        namespace,
        {**labels, **used.labels},
        {**_requests(spec, each.get("status", {})), **used.requests},
        spec.get("nodeSelector", {}),
        _node_terms(affinity.get("nodeAffinity", {}), gated=bool(spec.get("schedulingGates"))),
        tuple(_toleration(one) for one in spec.get("tolerations", ())),
        ports=tuple(_ports(spec)),
        volumes=tuple(used.volumes),
        affinity=tuple(_pod_terms(affinity.get("podAffinity", {}), namespace, labels)),
        anti_affinity=(
            *_pod_terms(affinity.get("podAntiAffinity", {}), namespace, labels),
            *used.anti_affinity,
        ),
        spreads=tuple(_spread(one, labels) for one in spec.get("topologySpreadConstraints", ())),
        features=_features(spec),
    )


def _features(spec: Object) -> frozenset[str]:
    """What a kubelet must declare for the pod (KEP-5328)."""
    actions = [rule["action"] for each in spec["containers"] for rule in each.get("restartPolicyRules", ())]
    return frozenset({"RestartAllContainersOnContainerExits"} if "RestartAllContainers" in actions else ())


def _requests(spec: Object, status: Object) -> dict[str, int]:
    """What a pod takes of a node: its containers at the worst moment of its life, and its overhead.

    Init containers run one after the other before all others; those that restart always stay.
    """
    staying = [_held(each, status) for each in spec["containers"]]
    moments, sidecars = [], []
    for each in spec.get("initContainers", ()):
        if each.get("restartPolicy") == "Always":
            sidecars.append(_resources(each))
            moments.append(_sum(sidecars))
        else:
            moments.append(_sum([*sidecars, _resources(each)]))
    moments.append(_sum([*staying, *sidecars]))
    worst = {key: max(one.get(key, 0) for one in moments) for key in {key for one in moments for key in one}}
    return dict(sorted(_sum([worst, amounts(spec.get("overhead", {}))]).items()))


def _held(container: Object, status: Object) -> dict[str, int]:
    """The most of what a container asks for, was promised and has (KEP-1287); no room is kept for what cannot be."""
    asked = _resources(container)
    said = [each for each in status.get("containerStatuses", ()) if each["name"] == container["name"]]
    if not said:
        return asked
    refused = any(each["reason"] == "Infeasible" for each in status["conditions"])
    stages = [amounts(said[0]["resources"]["requests"]), amounts(said[0]["allocatedResources"])]
    if not refused:
        stages.append(asked)
    return {key: max(each.get(key, 0) for each in stages) for key in {key for each in stages for key in each}}


def _resources(container: Object) -> dict[str, int]:
    given = container.get("resources", {})
    return amounts({**given.get("limits", {}), **given.get("requests", {})})


def _sum(all_of: list[dict[str, int]]) -> dict[str, int]:
    return {key: sum(each.get(key, 0) for each in all_of) for key in {key for each in all_of for key in each}}


def _ports(spec: Object) -> Iterable[HostPort]:
    for container in spec["containers"]:
        for port in container.get("ports", ()):
            address = port.get("hostIP", "")
            yield HostPort(
                port["hostPort"],
                port.get("protocol", "TCP"),
                "" if address == "0.0.0.0" else address,
            )


def _toleration(given: Object) -> Toleration:
    return Toleration(
        given.get("key", ""), given.get("operator", "Equal"), given.get("value", ""), given.get("effect", "")
    )


def _node_terms(affinity: Object, *, gated: bool) -> tuple[NodeTerm, ...] | None:
    """Required node affinity; that of a gated pod admits no node, for the gate does not."""
    only(affinity, {REQUIRED, _PREFERRED})
    if gated:
        return ()
    if REQUIRED not in affinity:
        return None
    return tuple(node_term(each) for each in affinity[REQUIRED]["nodeSelectorTerms"])


def _pod_terms(affinity: Object, namespace: str, labels: dict[str, str]) -> Iterable[PodTerm]:
    """Required terms. Without a word on namespaces a term means those of the pod's own."""
    only(affinity, {REQUIRED, _PREFERRED})
    for term in affinity.get(REQUIRED, ()):
        only(term, _POD_TERM)
        names, by_label = tuple(term.get("namespaces", ())), selector(term.get("namespaceSelector"))
        if not names and by_label is None:
            names = (namespace,)
        chosen = selector(term["labelSelector"])
        assert chosen is not None
        chosen += _own(term.get("matchLabelKeys", ()), "In", labels)
        chosen += _own(term.get("mismatchLabelKeys", ()), "NotIn", labels)
        yield PodTerm(term["topologyKey"], chosen, names, by_label)


def _spread(given: Object, labels: dict[str, str]) -> Spread:
    only(given, _CONSTRAINT)
    chosen = selector(given["labelSelector"])
    assert chosen is not None
    return Spread(
        given["topologyKey"],
        chosen + _own(given.get("matchLabelKeys", ()), "In", labels),
        given["maxSkew"],
        given["whenUnsatisfiable"] == "DoNotSchedule",
        given.get("minDomains", 1),
        given.get("nodeAffinityPolicy", "Honor") == "Honor",
        given.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def _own(keys: Iterable[str], operator: str, labels: dict[str, str]) -> tuple[Requirement, ...]:
    """What ``matchLabelKeys`` add: the pod's own labels, as far as it has them."""
    return tuple(Requirement(key, operator, (labels[key],)) for key in keys if key in labels)

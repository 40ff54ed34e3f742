"""What a bridge has to be allowed, by the folder of ``deploy/`` that grants it; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from poseidon.configuration.document import BridgeConfiguration

_FOLLOW = ("list", "watch")


class Right(NamedTuple):
    """May carry out a verb on a resource of an API group; ``name`` if on one object alone, within ``namespace``."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}{f' {self.name}' if self.name else ''}"


def _rights(group: str, resources: str, *verbs: str) -> frozenset[Right]:
    return frozenset(Right(group, resource, verb) for resource in resources.split() for verb in verbs)


BASE = frozenset().union(
    _rights("", "namespaces nodes pods services", *_FOLLOW),
    _rights("scheduling.k8s.io", "priorityclasses workloads podgroups", *_FOLLOW),
    _rights("scheduling.x-k8s.io", "podgroups", *_FOLLOW),
    _rights("scheduling.sigs.k8s.io", "podgroups", *_FOLLOW),
    _rights("scheduling.volcano.sh", "podgroups", *_FOLLOW),
    _rights("scheduling.k8s.io", "podgroups/status", "patch"),
    _rights("scheduling.x-k8s.io", "podgroups/status", "patch"),
    _rights("policy", "poddisruptionbudgets", *_FOLLOW),
    _rights("apps", "daemonsets replicasets statefulsets", *_FOLLOW),
    _rights("batch", "jobs", *_FOLLOW),
    _rights("slo.koordinator.sh", "nodemetrics", *_FOLLOW),
    _rights("metrics.k8s.io", "nodes pods", "list"),
    _rights(
        "storage.k8s.io",
        "storageclasses csinodes csidrivers csistoragecapacities volumeattachments",
        *_FOLLOW,
    ),
    _rights("", "persistentvolumeclaims persistentvolumes", *_FOLLOW, "patch"),
    _rights("topology.node.k8s.io", "noderesourcetopologies", *_FOLLOW),
    _rights("", "pods/binding", "create"),
    _rights("", "pods/status", "patch"),
    _rights("", "events", "create", "patch"),
)
PREEMPTION = _rights("", "pods/eviction", "create") | _rights("", "pods", "delete")
RECOVERY = _rights("", "pods", "get", "create") | _rights("", "pods/eviction", "create")
TOPOLOGY = _rights("", "configmaps", *_FOLLOW, "patch") | _rights("", "pods", "patch")
NETWORK = frozenset().union(
    _rights("appgroup.diktyo.x-k8s.io", "appgroups", "get", *_FOLLOW, "patch"),
    _rights("networktopology.diktyo.x-k8s.io", "networktopologies", "get", *_FOLLOW, "patch"),
    _rights("appgroup.diktyo.x-k8s.io", "appgroups/status", "patch"),
    _rights("networktopology.diktyo.x-k8s.io", "networktopologies/status", "patch"),
    _rights("", "configmaps", *_FOLLOW),
)


class Wanted(NamedTuple):
    """Rights that go together, for ``what``. ``folder`` of ``deploy/`` grants them. Not ``needed``: some go without."""

    what: str
    folder: str
    rights: frozenset[Right]
    needed: bool = True


def wanted(configuration: BridgeConfiguration, namespace: str) -> Iterator[Wanted]:
    """Yield what a bridge in ``namespace`` makes use of, by its configuration."""
    models = {model.name for model in configuration.cost_models}
    yield Wanted("base", ".", BASE)
    election = configuration.leader_election
    if election.leader_elect:
        yield Wanted(
            "lease", ".", lease_rights(election.resource_namespace or namespace, election.resource_name)
        )
    if configuration.recovery.recreate_bare_pods:
        yield Wanted("recovery", "recovery", RECOVERY)
    if "topology" in models:
        yield Wanted("topology", "topology", TOPOLOGY)
    if "network_overhead" in models:
        yield Wanted("network", "network", NETWORK)
    yield Wanted("preemption", "preemption", PREEMPTION, needed=False)


def lease_rights(namespace: str, name: str) -> frozenset[Right]:
    """Return what leader election takes: a Lease of that name."""
    group, resource = "coordination.k8s.io", "leases"
    on_it = {Right(group, resource, verb, namespace, name) for verb in ("get", *_FOLLOW, "patch")}
    return frozenset({Right(group, resource, "create", namespace), *on_it})

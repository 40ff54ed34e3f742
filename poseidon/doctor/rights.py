"""Lists the rights that a bridge needs, by the folder of ``deploy/`` that grants them; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.collections import QUEUED_JOBS, QUEUED_OWNERS
from poseidon.kube.api.kinds import FOLLOWED
from poseidon.queues.queue_names import SUSPENDABLE

_FOLLOW = ("list", "watch")


class Right(NamedTuple):
    """A verb on a resource of an API group; ``name`` limits it to one object, ``namespace`` to one namespace."""

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


def _to_follow(role: str) -> frozenset[Right]:
    """Return the rights to list and watch those kinds of objects that a folder's role covers."""
    return frozenset(
        Right(kind.group, kind.plural, verb) for kind in FOLLOWED if kind.role == role for verb in kind.verbs
    )


BASE = frozenset().union(
    _to_follow(""),
    _rights("metrics.k8s.io", "nodes pods", "list"),
    _rights("scheduling.k8s.io", "podgroups/status compositepodgroups/status", "patch"),
    _rights("scheduling.x-k8s.io", "podgroups/status", "patch"),
    _rights("resource.k8s.io", "resourceclaims/status resourceclaims/binding", "patch"),
    _rights("resource.k8s.io", "resourceclaims", "create"),
    _rights("", "pods/binding", "create"),
    _rights("", "pods/status", "patch"),
    _rights("", "events", "create", "patch"),
)
PREEMPTION = _rights("", "pods/eviction", "create") | _rights("", "pods", "delete")
RECOVERY = _rights("", "pods", "get", "create") | _rights("", "pods/eviction", "create")
TOPOLOGY = _to_follow("topology") | _rights("", "pods", "patch")
GPU_SHARING = _to_follow("gpu-sharing") | _rights("", "pods", "patch")
QUEUES = _to_follow("queues").union(
    *(_rights(resource.path.split("/")[2], resource.name, *_FOLLOW) for resource in QUEUED_OWNERS.values())
)
QUEUE_STATUSES = frozenset().union(
    _rights("kueue.x-k8s.io", "clusterqueues/status localqueues/status", "patch"),
    _rights("scheduling.volcano.sh", "queues/status", "patch"),
    _rights("scheduling.sigs.k8s.io", "elasticquotas/status", "patch"),
    _rights("scheduling.x-k8s.io", "elasticquotas/status", "patch"),
)
QUEUE_ADMISSION = _to_follow("queue-admission").union(
    *(
        _rights(resource.path.split("/")[2], resource.name, "patch")
        for kind, resource in (("Job", QUEUED_JOBS), *QUEUED_OWNERS.items())
        if kind in SUSPENDABLE
    )
)
NETWORK = frozenset().union(
    _to_follow("network"),
    _rights("appgroup.diktyo.x-k8s.io", "appgroups/status", "patch"),
    _rights("networktopology.diktyo.x-k8s.io", "networktopologies/status", "patch"),
    _rights("", "configmaps", *_FOLLOW),
)


class Wanted(NamedTuple):
    """Rights for one purpose (``what``), which the folder ``folder`` of ``deploy/`` grants.

    If ``needed``, the bridge cannot work without these rights.
    """

    what: str
    folder: str
    rights: frozenset[Right]
    needed: bool = True


def iter_wanted(configuration: BridgeConfiguration, namespace: str) -> Iterator[Wanted]:
    """Yield the rights that a bridge in ``namespace`` uses with its configuration."""
    models = {model.name for model in configuration.all_cost_models}
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
    if configuration.queues.source:
        yield Wanted("queues", "queues", QUEUES)
        if configuration.queues.admission == "poseidon":
            yield Wanted("queue admission", "queue-admission", QUEUE_ADMISSION)
            yield Wanted("queue statuses", "queue-statuses", QUEUE_STATUSES)
    if configuration.devices.sharing:
        yield Wanted("parts of GPUs", "gpu-sharing", GPU_SHARING)
    if "network_overhead" in models:
        yield Wanted("network", "network", NETWORK)
    yield Wanted("preemption", "preemption", PREEMPTION, needed=False)


def lease_rights(namespace: str, name: str) -> frozenset[Right]:
    """Return the rights to elect a leader by a Lease with this name."""
    group, resource = "coordination.k8s.io", "leases"
    on_it = {Right(group, resource, verb, namespace, name) for verb in ("get", *_FOLLOW, "patch")}
    return frozenset({Right(group, resource, "create", namespace), *on_it})

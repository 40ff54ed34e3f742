"""Passes manifests to the state of a bridge, as the watches of a real bridge would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.disruption_budgets.records import BUDGET_RECORD
from poseidon.kube.api import kinds
from poseidon.kube.api.kinds import WatchedKind
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.manifests.loader import Manifests
from poseidon.numa.node_topology import RECORD_KIND
from poseidon.pods.daemon_sets import find_daemon_set
from poseidon.pods.tasks import get_qualified_name

T = TypeVar("T", bound=KubeStruct)


def feed(manifests: Manifests, state: BridgeState, pods: Iterable[Pod], *, trees: bool) -> None:
    """Pass all objects to ``state`` in the order in which a bridge reads them; ``pods`` replace those of the manifests.

    ``trees`` says whether some cost model reads the cluster's tree of nodes. If the bridge cannot handle an object,
    the object goes into quarantine.
    """
    tell = state.quarantine.deliver
    for kind in kinds.BEFORE_PODS:
        if state.follows(kind):
            prefix = kind.group if kind in kinds.GROUPS else ""
            tell(kind.plural, state.handlers[kind], _changes(_list_objects(manifests, kind), prefix))
    for name, owner in manifests.owners:
        take: Callable[[Sequence[Change[Any]]], None] = state.owner_taker(name)
        tell(name, take, _changes([owner], name))
    if trees:
        tell(
            "tree maps",
            state.gangs.topology.tree_maps_changed,
            _list_changes(manifests.for_models, ConfigMap),
        )
    tell("pods", state.pods_changed, [Change(each.metadata.uid, each) for each in pods])
    _feed_applications(manifests.for_models, state)
    for custom in state.custom_resources:
        take = state.custom_records.get_handler(custom, 0)
        if custom.kind == BUDGET_RECORD:
            tell(custom.kind, take, _changes(manifests.budgets))
        elif custom.kind == RECORD_KIND:
            tell(custom.kind, take, _list_changes(manifests.for_models, NodeResourceTopology))
    state.gangs.begin()


def as_created(pod: Pod, now: float) -> Pod:
    """Return the pod with a creation time; if the pod states none, it is ``now`` (seconds since the epoch)."""
    if pod.metadata.creation_timestamp:
        return pod
    time = datetime.fromtimestamp(now, UTC).isoformat()
    return replace(pod, metadata=replace(pod.metadata, creation_timestamp=time))


def as_pending(pod: Pod) -> Pod:
    """Return the pod as if it were pending: without node, scheduling gates and deletion time."""
    spec = replace(pod.spec, node_name="", scheduling_gates=())
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=None), spec=spec)


def _list_objects(manifests: Manifests, kind: WatchedKind) -> Sequence[KubeStruct]:
    """Return the objects of a kind that a bridge reads before pods."""
    if kind is kinds.NAMESPACE:
        return _list_namespaces(manifests)
    if kind is kinds.DAEMON_SET:
        return _list_daemon_sets(manifests)
    listed: Mapping[WatchedKind, Sequence[KubeStruct]] = {
        kinds.NODE: manifests.nodes,
        kinds.PRIORITY_CLASS: manifests.priority_classes,
        kinds.SERVICE: manifests.services,
    }
    if kind in listed:
        return listed[kind]
    return [
        each
        for each in (*manifests.storage, *manifests.devices, *manifests.for_models)
        if isinstance(each, kind.struct)
    ]


def _feed_applications(objects: Sequence[KubeStruct], state: BridgeState) -> None:
    applications = state.applications
    if applications is None:
        return
    tell = state.quarantine.deliver
    tell("applications", applications.app_groups_changed, _list_changes(objects, AppGroup))
    tell("network topologies", applications.topologies_changed, _list_changes(objects, NetworkTopology))
    wanted = applications.topologies.list_config_maps()
    for each in objects:
        if isinstance(each, ConfigMap):
            name = (each.metadata.namespace, each.metadata.name)
            if name in wanted:
                applications.config_map_changed(name, each.data)


def _list_namespaces(manifests: Manifests) -> list[Namespace]:
    """Return the namespaces of the input; make up those that pods name and the input lacks."""
    known = {each.metadata.name: each for each in manifests.namespaces}
    names = sorted({*known, *(pod.metadata.namespace for pod in manifests.pods)})
    return [known.get(name) or Namespace(metadata=ObjectMeta(name=name)) for name in names]


def _list_daemon_sets(manifests: Manifests) -> list[ScaledOwner]:
    """Return the DaemonSets of the input; if the input has none, the DaemonSets that pods name as their owners."""
    if manifests.daemon_sets:
        return [ScaledOwner(metadata=each) for each in manifests.daemon_sets]
    named = (
        (pod.metadata.namespace, owner.name) for pod in manifests.pods if (owner := find_daemon_set(pod))
    )
    return [
        ScaledOwner(metadata=ObjectMeta(name=name, namespace=space)) for space, name in dict.fromkeys(named)
    ]


def _list_changes(objects: Iterable[KubeStruct], kind: type[T]) -> list[Change[T]]:
    return _changes([each for each in objects if isinstance(each, kind)])


def _changes(objects: Iterable[T], kind: str = "") -> list[Change[T]]:
    """Return objects as changes with keys ``namespace/name``; if ``kind`` is given, it precedes each key."""
    name_of: Callable[[ObjectMeta], str] = get_qualified_name
    return [
        Change(f"{kind} {name_of(each.metadata)}".lstrip(), each)  # type: ignore[attr-defined]  # all have metadata
        for each in objects
    ]

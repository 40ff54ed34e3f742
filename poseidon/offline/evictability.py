"""Decides whether a running pod may move to another node, for audits, moves, drained nodes and cures.

A move is an eviction after which the pod's controller creates another pod. A pod stays on its node if the eviction
subresource would refuse its eviction, or if nothing would replace the pod. A pod also stays if tools that empty nodes
(kubectl drain, cluster-autoscaler, Karpenter) would leave it on its node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from poseidon.devices.claims import find_tie
from poseidon.devices.needs import DeviceNeeds
from poseidon.disruption_budgets.eviction_answers import BudgetAnswers
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import OfflineCluster
from poseidon.pod_groups.composites import find_disrupted_whole
from poseidon.pod_groups.group_names import MIRROR_ANNOTATION
from poseidon.pod_groups.groups import Groups
from poseidon.pods.daemon_sets import find_daemon_set
from poseidon.pods.tasks import Disposition, classify_pod

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of a pod: "false" forbids moving the pod, "true" allows losing its local data."""

SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""Annotation of a pod: names of volumes, separated by commas, whose local data may be lost."""

REFUSALS: Mapping[str, str] = MappingProxyType(
    {"karpenter.sh/do-not-disrupt": "true", SAFE_TO_EVICT: "false"}
)
"""Annotations of Karpenter and cluster-autoscaler with the values that forbid moving a pod."""

_MEMORY = "Memory"


def goes_with_its_node(pod: Pod) -> bool:
    """Return whether a pod ends with its node: it is being deleted, or static, or belongs to a DaemonSet."""
    owner = pod.metadata.controller()
    static = MIRROR_ANNOTATION in pod.metadata.annotations or (owner is not None and owner.kind == "Node")
    return pod.metadata.deletion_timestamp is not None or find_daemon_set(pod) is not None or static


def find_forbidding_annotation(pod: Pod) -> str:
    """Return the annotation that forbids moving a pod, as a phrase for people, or "" for none."""
    annotations = pod.metadata.annotations
    for key, value in REFUSALS.items():
        if annotations.get(key) == value:
            return f"has the annotation {key}: {value}"
    return ""


class RunningPods(NamedTuple):
    """The pods that are on nodes, by uid.

    ``goes`` has the pods that end with their nodes; ``stays`` says why pods must not move.
    """

    pods: Mapping[str, Pod]
    goes: frozenset[str]
    stays: Mapping[str, str]

    @property
    def nodes(self) -> dict[str, str]:
        """The node of each pod, by uid."""
        return {uid: pod.spec.node_name for uid, pod in self.pods.items()}

    @property
    def movable(self) -> list[str]:
        """The uids of pods that may be moved, in order."""
        return sorted(self.pods.keys() - self.goes - self.stays.keys())


def list_running_pods(
    cluster: OfflineCluster, manifests: Manifests, *, local_data_may_go: bool = False
) -> RunningPods:
    """Return the pods of a cluster that are on nodes.

    If ``local_data_may_go``, pods with data in folders of their nodes may move.
    """
    bound = {uid: pod for uid, pod in cluster.pods.items() if classify_pod(pod) is Disposition.BOUND}
    goes = frozenset(uid for uid, pod in bound.items() if goes_with_its_node(pod))
    rules = MoveRules(
        BudgetAnswers(manifests.budgets),
        cluster.state.gangs.groups,
        lambda uid: cluster.state.devices.resolution(uid).needs,
        local_data_may_go=local_data_may_go,
    )
    found = ((uid, rules.refusal(uid, pod)) for uid, pod in bound.items() if uid not in goes)
    return RunningPods(bound, goes, {uid: reason for uid, reason in found if reason})


class MoveRules:
    """The rules that may forbid moving a running pod.

    ``needs_of`` returns what the device claims of a pod (uid) request.
    """

    def __init__(
        self,
        budgets: BudgetAnswers,
        groups: Groups,
        needs_of: Callable[[str], DeviceNeeds] = lambda _: (),
        *,
        local_data_may_go: bool = False,
    ) -> None:
        self._budgets = budgets
        self._needs_of = needs_of
        self._groups = groups
        self._local_data_may_go = local_data_may_go

    def refusal(self, uid: str, pod: Pod) -> str:
        """Return why a running pod must stay on its node, or "" if it may be evicted and can run elsewhere."""
        if pod.metadata.controller() is None:
            return find_forbidding_annotation(pod) or "has no controller that would replace it"
        return (
            find_forbidding_annotation(pod)
            or self._explain_gang(uid)
            or self._explain_local_data(pod)
            or find_tie(pod, self._needs_of(uid))
            or self._budgets.refusal(pod)
        )

    def _explain_gang(self, uid: str) -> str:
        """Return why a pod must stay if only its whole gang, or its group in it, may be evicted; else ""."""
        group = self._groups.group_of(uid)
        if group is None:
            return ""
        demand = self._groups.demand(group)
        if demand is None:
            return ""
        if demand.nodes:
            inner = self._groups.place_in_tree(group, uid).group
            name = find_disrupted_whole(demand.nodes, inner)
            if name and not demand.disrupted_whole:
                return f"is in group {name} of {group.member.name}, which is disrupted as a whole"
        whole = demand.disrupted_whole and (demand.min_members > 1 or demand.nodes)
        return f"is in gang {group.member.name}, which is disrupted as a whole" if whole else ""

    def _explain_local_data(self, pod: Pod) -> str:
        """Return why a pod must stay if it has data in a folder of its node, else ""."""
        if self._local_data_may_go or pod.metadata.annotations.get(SAFE_TO_EVICT) == "true":
            return ""
        found = next(_list_local_volumes(pod), None)
        return f"has local data in volume {found[0]} ({found[1]})" if found else ""


def _list_local_volumes(pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield (name, kind) of those volumes of a pod whose data stays on the node when the pod moves."""
    safe = {each.strip() for each in pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")}
    for volume in pod.spec.volumes:
        if volume.name in safe:
            continue
        if volume.empty_dir is not None and volume.empty_dir.medium != _MEMORY:
            yield volume.name, "emptyDir"
        elif volume.host_path is not None:
            yield volume.name, "hostPath"

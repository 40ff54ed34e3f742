"""Tries changes that might admit a waiting workload to its queue: plans the whole cluster once per change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from msgspec.structs import replace as replace_struct

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.queues import WorkloadPriorityClass
from poseidon.kube.api.pods import Container, Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import OfflineCluster, build_offline_cluster
from poseidon.offline.plan import Plan, schedule_pods
from poseidon.pods.requests_and_limits import amounts, effective_requests
from poseidon.pods.tasks import workload_of
from poseidon.queues.model import QuotaNode
from poseidon.queues.queue_names import KUEUE_PRIORITY

_MOST_NAMED = 3

_TRIED = "tried"
"""Name of the priority class that a trial adds to give pods in Kueue's queues another priority."""


@dataclass(frozen=True, slots=True)
class AdmissionStep:
    """One step of a change: an amount or a priority, its present value and its value after the change."""

    kind: str
    """What the step changes: ``quota``, ``borrowing-limit``, ``limit``, ``request`` or ``priority``."""
    subject: str
    """Name of the quota or workload that the step changes."""
    flavor: str
    resource: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class AdmissionChange:
    """A change that would admit a whole workload: all the workload's pods get places in a plan after these steps."""

    text: str
    """The whole change in words, for people."""
    steps: tuple[AdmissionStep, ...]
    commands: tuple[str, ...] = ()
    """Commands that carry out the change; empty if no command can."""
    others: tuple[str, ...] = ()
    """Workloads that would lose their places through this change; without it, they have places or would get some."""

    def as_json(self) -> dict[str, Any]:
        """Return the change as the JSON object that the documents describe."""
        return {
            "text": self.text,
            "steps": [asdict(each) for each in self.steps],
            "commands": list(self.commands),
            "others": list(self.others),
        }


class AdmissionTrials:
    """Plans a cluster repeatedly, each time with one change that might admit a workload.

    ``plan`` is the plan of the unchanged cluster; ``pods`` are the uids of the workload's pods that wait after that
    plan.
    """

    def __init__(
        self,
        manifests: Manifests,
        configuration: BridgeConfiguration,
        now: float,
        cluster: OfflineCluster,
        plan: Plan,
        pods: Collection[str],
    ) -> None:
        self._manifests, self._configuration, self._now = manifests, configuration, now
        self._cluster = cluster
        self._pods = frozenset(pods)
        self._placed = _list_placed(cluster, plan)

    def try_quota(self, quota: QuotaNode) -> tuple[str, ...] | None:
        """Try a changed quota; return the workloads that lose places by it, or None if the pods still wait."""
        return self._judge(self._manifests, (quota,))

    def try_priority(self, priority: int) -> tuple[str, ...] | None:
        """Try a priority for the workload's pods.

        The function returns the workloads that lose places by the change, or None if the pods still wait.
        """

        def give_priority(pod: Pod) -> Pod:
            labels = {**pod.metadata.labels, KUEUE_PRIORITY: _TRIED}
            metadata = replace_struct(pod.metadata, labels=labels)
            return replace_struct(pod, metadata=metadata, spec=replace_struct(pod.spec, priority=priority))

        changed = self._change_pods(give_priority)
        tried = WorkloadPriorityClass(ObjectMeta(name=_TRIED, uid=_TRIED), priority)
        return self._judge(replace(changed, for_models=(*changed.for_models, tried)), ())

    def try_requests(self, requests: Mapping[str, int]) -> tuple[str, ...] | None:
        """Try lower requests for each pod of the workload; return the workloads that lose places by this change.

        Returns None if the pods still wait, or if some pod's requests cannot be lowered so far.
        """
        if any(_lower_requests(self._cluster.pods[uid], requests) is None for uid in self._pods):
            return None
        return self._judge(self._change_pods(lambda pod: _lower_requests(pod, requests) or pod), ())

    def _change_pods(self, change: Callable[[Pod], Pod]) -> Manifests:
        def change_all(pods: Sequence[Pod]) -> Iterator[Pod]:
            return (change(pod) if pod.metadata.uid in self._pods else pod for pod in pods)

        found = self._manifests
        return replace(
            found, pods=tuple(change_all(found.pods)), suspended=tuple(change_all(found.suspended))
        )

    def _judge(self, manifests: Manifests, quotas: Sequence[QuotaNode]) -> tuple[str, ...] | None:
        cluster = build_offline_cluster(manifests, self._configuration, self._now)
        cluster.assume_quotas(quotas)
        placed = _list_placed(cluster, schedule_pods(cluster, manifests))
        if not self._pods <= placed:
            return None
        lost = {workload_of(self._cluster.pods[uid]) for uid in self._placed - placed}
        return tuple(sorted(lost))


def _list_placed(cluster: OfflineCluster, plan: Plan) -> frozenset[str]:
    """Return the uids of the pods that have nodes after a plan, or will get nodes when the plan's victims have left."""
    leaving = {each.pod for each in plan.preemptions}
    runs = {uid for uid in cluster.pods if cluster.runs(uid)}
    return frozenset(runs - leaving | {each.pod for each in plan.bindings})


def _lower_requests(pod: Pod, requests: Mapping[str, int]) -> Pod | None:
    """Return the pod with requests of at most ``requests`` (amount by resource), or None if that is impossible.

    For each resource, only the container with the largest request gets a lower request.
    """
    containers = list(pod.spec.containers)
    before = effective_requests(pod.spec, [])
    for resource, wanted in requests.items():
        asked = [amounts(each.resources.requests, "", []).get(resource, 0) for each in containers]
        largest = max(range(len(asked)), key=asked.__getitem__)
        less = asked[largest] - (before.get(resource, 0) - wanted)
        if less <= 0:
            return None
        containers[largest] = _set_request(containers[largest], resource, less)
    changed = replace_struct(pod, spec=replace_struct(pod.spec, containers=tuple(containers)))
    after = effective_requests(changed.spec, [])
    return changed if all(after.get(name) == wanted for name, wanted in requests.items()) else None


def _set_request(container: Container, resource: str, amount: int) -> Container:
    value = f"{amount}m" if resource == "cpu" else amount
    limits = dict(container.resources.limits)
    if (
        "/" in resource and resource in limits
    ):  # The API server demands that limits of extended resources equal requests.
        limits[resource] = value
    requests = {**container.resources.requests, resource: value}
    resources = replace_struct(container.resources, requests=requests, limits=limits)
    return replace_struct(container, resources=resources)


def name_others(others: Sequence[str]) -> str:
    """Return the end of a sentence that names the workloads that would lose places, or "" for none."""
    if not others:
        return ""
    more = len(others) - _MOST_NAMED
    named = ", ".join(others[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"; then {named} {'loses its' if len(others) == 1 else 'lose their'} places"

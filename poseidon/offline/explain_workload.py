"""Explains why a workload waits in a queue: what its quota lacks, which workloads are ahead, what would admit it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from poseidon.configuration.document import BridgeConfiguration
from poseidon.explanations import Remedy
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.other_projects.queues import WorkloadPriorityClass
from poseidon.manifests.amounts import format_amount
from poseidon.manifests.loader import Manifests
from poseidon.offline.admission_trials import AdmissionChange, AdmissionTrials
from poseidon.offline.audit.make_audit import find_cures_of_pods
from poseidon.offline.cluster import OfflineCluster, build_offline_cluster
from poseidon.offline.evictability import list_running_pods
from poseidon.offline.explain import describe_cure
from poseidon.offline.plan import Plan, schedule_pods
from poseidon.offline.queue_order import list_members, order_queues
from poseidon.offline.quota_changes import (
    QuotaLack,
    find_priority_change,
    find_quota_changes,
    find_request_change,
    list_lacks,
)
from poseidon.offline.waiting_workloads import shorten_message
from poseidon.pods.requests_and_limits import effective_requests
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.model import QuotaNode
from protos.conventions.number_formats import format_count


class UnknownWorkloadError(LookupError):
    """Raised if the input has no workload of this name, or if the workload has no pods.

    The error's message says what to name instead.
    """


@dataclass(frozen=True, slots=True)
class WorkloadExplanation:
    """The state of a workload in its queue after a round."""

    workload: str
    """``namespace/Kind/name`` of the pods' controller, or the pod's own name if it has no controller."""
    pods: int
    """How many pods of the workload have not ended."""
    waiting: tuple[str, ...]
    """The uids of the workload's pods that still wait after the round."""
    queue: str
    """The quota from which the workload's pods take, "" for none."""
    position: int
    """The workload's position among those that wait in the queue: 1 for the first, 0 if it does not wait."""
    behind_it: int
    """How many workloads wait behind this one in the queue."""
    reason: str
    """Why the workload waits, in the solver's words: the most frequent reason of its pods."""
    lacks: tuple[QuotaLack, ...]
    """The amounts that the quota lacks for the workload, for the flavors that lack least; empty if nothing lacks."""
    changes: tuple[AdmissionChange, ...]
    """Changes of quotas, requests or priority after which the queue would admit the workload."""
    cures: tuple[Remedy, ...]
    """Changes of pods or nodes that would give the workload's first waiting pod a node."""
    warnings: tuple[str, ...]
    """Warnings about the input, one line each, for people."""
    refused: bool = False
    """Whether the API server would refuse the workload's pods; such pods never get into a queue."""

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as the JSON object that the documents describe."""
        lacks = [
            {"flavor": each.flavor, "resource": each.resource, "wanted": each.wanted, "left": each.left}
            for each in self.lacks
        ]
        return {
            "workload": self.workload,
            "pods": self.pods,
            "waiting": list(self.waiting),
            "queue": self.queue or None,
            "position": self.position or None,
            "behind": self.behind_it,
            "reason": self.reason,
            "lacks": lacks,
            "changes": [each.as_json() for each in self.changes],
            "cures": [each.data for each in self.cures],
        }

    def describe(self) -> Iterator[str]:
        """Yield the explanation as lines for people."""
        title = self.queue.replace("/", " ", 1)
        without = ", whose pods would be refused," if self.refused else ", which is in no queue,"
        name = f"Workload {self.workload}" + (f" of {title}" if title else without)
        every = format_count(self.pods, "pod")
        if not self.waiting:
            yield f"{name} does not wait: {every} of it have nodes, or get some."
            return
        waiting = len(self.waiting)
        some = every if waiting == self.pods else f"{waiting:,} of {every}"
        yield f"{name} goes on waiting with {some}: {self.reason.rstrip('.')}."
        if self.position:
            ahead = self.position - 1
            yield f"Ahead of it in its queue: {format_count(ahead, 'workload')}; behind: {self.behind_it:,}."
        for lack in self.lacks:
            wanted, left = (format_amount(lack.resource, max(each, 0)) for each in (lack.wanted, lack.left))
            flavor = f" of flavor {lack.flavor}" if lack.flavor else ""
            yield f"It asks for {wanted} of {lack.resource}{flavor}, of which {left} is left to its queue."
        if self.changes or self.cures:
            yield "Any of these would do; each has been tried by a plan:"
        for change in self.changes:
            yield f"- {change.text}"
            yield from (f"    {each}" for each in change.commands)
        for cure in self.cures:
            yield f"- {cure.data['text']}"
            yield from (f"    {each}" for each in cure.commands)


def explain_workload(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, name: str
) -> WorkloadExplanation:
    """Explain why a workload waits; ``name`` may be full, as ``poseidon plan`` prints it, or short.

    Raises ``UnknownWorkloadError`` if no single workload has that name.
    """
    cluster = build_offline_cluster(manifests, configuration, now)
    members = list_members(cluster)
    workload = _find_workload(members, name)
    known = tuple(cluster.state.snapshot())
    plan = schedule_pods(cluster, manifests)
    pods = members[workload]
    known_queues = cluster.state.queues
    queue = known_queues.resolve(pods[0]).quota if known_queues is not None else ""
    reasons = {each.pod: each.reason for each in plan.pending}
    waiting = [uid for uid in pods if uid in reasons]
    waiting_workload = _WaitingWorkload(
        workload, pods, waiting, queue, not manifests.refused.keys().isdisjoint(pods)
    )
    if not waiting:
        return waiting_workload.describe(plan)
    # Cures are found first, because their search leaves the cluster unchanged, while the trials of changes place pods
    # in it.
    cures = find_cures_of_pods(
        manifests, configuration, now, known, list_running_pods(cluster, manifests), plan, waiting[:1]
    )
    ((reason, _),) = Counter(reasons[uid] for uid in waiting).most_common(1)
    ahead = order_queues(cluster, plan, members).get(queue, []) if queue else []
    order = [each.workload for each in ahead] if queue else [workload]
    place = order.index(workload) if workload in order else -1
    trials = AdmissionTrials(manifests, configuration, now, cluster, plan, waiting)
    before = [uid for each in order[: max(place, 0)] for uid in members[each] if uid in reasons]
    classes: list[PriorityClass | WorkloadPriorityClass] = [*manifests.priority_classes]
    if queue.startswith("ClusterQueue/"):
        classes += [each for each in manifests.for_models if isinstance(each, WorkloadPriorityClass)]
    lacks, changes = _find_changes(trials, cluster, waiting_workload, before, classes)
    if any(
        each.steps[0].kind == "request" for each in changes
    ):  # Cures that lower a single pod's request repeat the change that lowers the requests of all pods.
        cures = tuple(each for each in cures if each.kind != "lower-request" or len(each.changes) > 1)
    return waiting_workload.describe(
        plan,
        position=place + 1,
        behind=len(order) - place - 1 if place >= 0 else 0,
        reason=shorten_message(reason),
        lacks=lacks,
        changes=changes,
        cures=tuple(map(describe_cure, cures)),
    )


class _WaitingWorkload(NamedTuple):
    """A workload with its pods and waiting pods (uids), its quota ("" for none), and whether some pods are refused."""

    workload: str
    pods: Sequence[str]
    waiting: Sequence[str]
    queue: str
    refused: bool

    def describe(
        self,
        plan: Plan,
        *,
        position: int = 0,
        behind: int = 0,
        reason: str = "",
        lacks: tuple[QuotaLack, ...] = (),
        changes: tuple[AdmissionChange, ...] = (),
        cures: tuple[Remedy, ...] = (),
    ) -> WorkloadExplanation:
        return WorkloadExplanation(
            self.workload,
            len(self.pods),
            tuple(self.waiting),
            self.queue,
            position,
            behind,
            reason,
            lacks,
            changes,
            cures,
            plan.warnings,
            self.refused,
        )


def _find_changes(
    trials: AdmissionTrials,
    cluster: OfflineCluster,
    waiting_workload: _WaitingWorkload,
    ahead: Sequence[str],
    classes: Sequence[PriorityClass | WorkloadPriorityClass],
) -> tuple[tuple[QuotaLack, ...], tuple[AdmissionChange, ...]]:
    """Return what a workload's quota lacks and changes that would admit the workload.

    ``ahead`` has the pods that are ahead of the workload in its queue.
    """
    known_queues, waiting = cluster.state.queues, waiting_workload.waiting
    quota = known_queues.quotas.get(waiting_workload.queue) if known_queues is not None else None
    if known_queues is None or quota is None or quota.problem:
        return (), ()
    lacks = list_lacks(quota, _sum_requests(cluster, waiting), _AvailableQuota(cluster, quota))
    asked = [effective_requests(cluster.pods[uid].spec, []) for uid in waiting]
    found: list[AdmissionChange | None] = [
        *find_quota_changes(trials, known_queues, quota, lacks, _sum_requests(cluster, ahead)),
        find_request_change(trials, waiting_workload.workload, asked, lacks),
        find_priority_change(
            trials,
            waiting_workload.workload,
            _find_priority(cluster, waiting[0]),
            _list_priorities(cluster, known_queues, quota),
            classes,
        ),
    ]
    return tuple(lacks[0]) if lacks else (), tuple(each for each in found if each is not None)


class _AvailableQuota:
    """Answers how much of a quota is available for a flavor and resource.

    The solver reports no amount for a resource of which the quota neither uses nor owns anything. For such a
    resource, the quota's limit counts as available, because the quotas above it might lend that much.
    """

    def __init__(self, cluster: OfflineCluster, quota: QuotaNode) -> None:
        news = cluster.state.queue_news
        state = news.statuses.states.get(quota.name) if news is not None else None
        self._limit = quota.limit
        uses = state.uses if state is not None else ()
        self._left = {(use.flavor, use.resource): use.available for use in uses}

    def __call__(self, flavor: str, resource: str) -> int:
        found = self._left.get((flavor, resource))
        return self._limit.get(flavor, {}).get(resource, 0) if found is None else found


def _find_workload(members: Mapping[str, Sequence[str]], name: str) -> str:
    """Return the only workload that fits ``name``: its full name, its name without the kind, or the last part."""
    if name in members:
        return name
    parts = name.lower().split("/")
    found = [each for each in members if _matches(each.lower().split("/"), parts)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownWorkloadError(f"several workloads are called {name}: {', '.join(sorted(found)[:5])}")
    close = difflib.get_close_matches(name, members, n=1)
    remedy = f"did you mean {close[0]}?" if close else "name one as NAMESPACE/KIND/NAME"
    raise UnknownWorkloadError(f"workload {name} has no pods in the input; {remedy}")


def _matches(full: Sequence[str], parts: Sequence[str]) -> bool:
    namespace, *kind, own = full
    if len(parts) == 1:
        return parts[0] == own
    return list(parts) in ([namespace, own], [*kind, own])


def _sum_requests(cluster: OfflineCluster, pods: Iterable[str]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for uid in pods:
        total.update(effective_requests(cluster.pods[uid].spec, []))
        total["pods"] += 1
    return dict(total)


def _find_priority(cluster: OfflineCluster, uid: str) -> int:
    record = cluster.state.tasks.get(uid)
    return record.task.priority if record is not None else 0


def _list_priorities(cluster: OfflineCluster, known_queues: KnownQueues, quota: QuotaNode) -> set[int]:
    """Return the priorities of all pods that take from the same tree of quotas."""
    root = known_queues.find_root(quota)
    return {
        record.task.priority
        for record in cluster.state.tasks
        if (its := known_queues.quotas.get(known_queues.resolve(record.task.uid).quota)) is not None
        and known_queues.find_root(its) == root
    }

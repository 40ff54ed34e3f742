"""What must hold of queues whatever happens: no binding, and no Job that is resumed, exceeds a quota.

A binding is judged by what the bridge that asks for it had told the solver for sure: all that it has bound itself; what
it knew when it began the last session that is old enough for what is decided now; and all that it has seen and that is
long past. Of quotas that have changed since then, any may have been the one that it went by.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.simulation import queued_objects, workload
from tests.programs.simulation.api_server import (
    CLUSTER_QUEUES,
    COHORTS,
    JOBS,
    PODS,
    Copy,
    Object,
    Request,
)
from tests.programs.simulation.job_controller import owner_of
from tests.programs.simulation.oracle import KNOWN_AFTER, RECENTLY, Oracle, PodHistory
from tests.programs.simulation.quota_tree import Quotas
from tests.programs.simulation.streams import Stream

LONG_PAST = 100.0
"""Seconds after which whoever has seen something has told the solver, and gone by it."""


@dataclass
class QuotaOracle(Oracle):
    """An oracle that knows of queues, too. ``find_seen`` returns what a bridge has dealt with by its name."""

    find_seen: Callable[[str], Mapping[str, int]] = lambda _: {}
    resumptions: int = 0
    _quotas: list[tuple[float, Quotas]] = field(default_factory=list)
    _sessions: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    _jobs: dict[str, Object] = field(default_factory=dict)
    _ended: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.api.on_resumption = self.resumption

    # --- the history ---------------------------------------------------------------------------------------

    def changed(self, path: str, kind: str, found: Object) -> None:
        """Take a write."""
        super().changed(path, kind, found)
        if path in (CLUSTER_QUEUES, COHORTS):
            self._note_quotas(self.api.all(CLUSTER_QUEUES))
        elif path == JOBS:
            self._jobs[found["metadata"]["uid"]] = found
            if kind == "DELETED":
                self._ended[found["metadata"]["uid"]] = self.queue.now

    def _note_quotas(self, queues: Iterable[Object]) -> None:
        specs = {each["metadata"]["name"]: each["spec"] for each in queues}
        cohorts = {each["metadata"]["name"]: each["spec"] for each in self.api.all(COHORTS)}
        if not self._quotas or self._quotas[-1][1].specs != specs:
            self._quotas.append((self.queue.now, Quotas(specs, cohorts)))

    def restored(self, copy: Copy) -> None:
        """Take that the server has come back from a copy."""
        super().restored(copy)
        self._note_quotas(copy.objects[CLUSTER_QUEUES].values())
        there = {each["metadata"]["uid"]: each for each in copy.objects[JOBS].values()}
        for uid in self._jobs.keys() - there.keys():
            self._ended.setdefault(uid, self.queue.now)
        self._jobs.update(there)
        for uid in there:
            self._ended.pop(uid, None)

    def from_server(self, stream: Stream, message: pb.ServerMessage) -> None:
        super().from_server(stream, message)
        if message.HasField("welcome") and self.streams.get(stream) is not None:
            client = stream.client.name
            self._sessions[client].append((self.queue.now, self.find_seen(client).get(PODS, 0)))

    # --- who uses what -------------------------------------------------------------------------------------

    def _find_queue(self, pod: Object) -> str:
        """Return the queue that a pod names, or its Job; "" for none."""
        job = self._jobs.get(owner_of(pod))
        named = job if job is not None else pod
        return str(named["metadata"].get("labels", {}).get(queued_objects.LABEL, ""))

    def _find_flavor(self, node: str) -> str:
        states = [each for _, each in self.nodes[node] if each is not None]
        return str(states[-1]["metadata"]["labels"][workload.ZONE])

    def _list_known(self, request: Request) -> Iterator[PodHistory]:
        """Yield pods with nodes that whoever asks had told the solver of when that decided."""
        sessions = self._sessions[request.client]
        told = [seen for began, seen in sessions if began <= self.queue.now - KNOWN_AFTER][-1:]
        begun = (told or [seen for _, seen in sessions[:1]] or [0])[0]
        started = sessions[0][0] if sessions else self.queue.now
        seen, past = request.seen.get(PODS, 0), self.queue.now - LONG_PAST
        for each in self.pods.values():
            if each.bound is None or each.removed is not None or each.finished is not None or not each.node:
                continue
            if self._ended.get(owner_of(each.object), started) < started:
                continue  # Its Job, which alone names the queue, was deleted before who asks could read it.
            if any(moment > each.bound and state is None for moment, state in self.nodes[each.node]):
                continue  # Its node has been deleted: the solver forgets its pods, and may not know them yet again.
            long_seen = each.bound <= seen and (each.bound_at or 0.0) <= past
            if each.bound_by == request.client or each.bound <= begun or long_seen:
                yield each

    def _sum_use(self, request: Request) -> Counter[tuple[str, str, str]]:
        use: Counter[tuple[str, str, str]] = Counter()
        for each in self._list_known(request):
            queue = self._find_queue(each.object)
            if queue:
                flavor = self._find_flavor(each.node)
                for resource in queued_objects.RESOURCES:
                    use[queue, flavor, resource] += each.held(resource, 0)
        return use

    def _list_quotas(self, request: Request) -> list[Quotas]:
        """Return the quotas by which somebody may have decided who asks now."""
        began = [at for at, _ in self._sessions[request.client] if at <= self.queue.now - KNOWN_AFTER][-1:]
        since = max(*began, self.queue.now - LONG_PAST, 0.0)
        older = [each for at, each in self._quotas if at <= since][-1:]
        return [*older, *(each for at, each in self._quotas if at > since)]

    # --- what is judged ------------------------------------------------------------------------------------

    def binding(self, request: Request | None, pod: Object, node: str) -> None:
        """Judge a binding that is about to take effect."""
        queue = self._find_queue(pod)
        if request is not None and queue:
            self._judge_quota(request, pod, queue, self._find_flavor(node))
        super().binding(request, pod, node)

    def _judge_quota(self, request: Request, pod: Object, queue: str, flavor: str) -> None:
        use, asked = self._sum_use(request), workload.requests(pod)
        for resource in queued_objects.RESOURCES:
            use[queue, flavor, resource] += asked.get(resource, 0)
        lacks = {""}
        for quotas in self._list_quotas(request):
            lacks = {
                resource
                for resource in queued_objects.RESOURCES
                if asked.get(resource, 0) and quotas.available(queue, flavor, resource, use) < 0
            }
            if not lacks:
                return
        self.fail(
            f"{pod['metadata']['name']} exceeds the quota of {queue} for {', '.join(sorted(lacks))} in {flavor}"
        )

    def resumption(self, request: Request, job: Object) -> None:
        """Judge that a Job is about to be resumed: there is quota for all of its pods."""
        self.resumptions += 1
        queue, use = job["metadata"]["labels"][queued_objects.LABEL], self._sum_use(request)
        asked = {key: each for key, each in queued_objects.needs(job).items() if each}
        missing = queued_objects.count_missing(job)
        found = max(each.count(queue, asked, use) for each in self._list_quotas(request))
        if found < missing:
            name = job["metadata"]["name"]
            self.fail(f"{name} is resumed, and {queue} has quota for {found} of its {missing} pods")

    def has_reason(self, pod: Object) -> bool:
        """Whether somebody comes, or did recently, who may evict a pod: of its tree of queues anybody."""
        return super().has_reason(pod) or any(self._may_evict(each, pod) for each in self._list_contenders())

    def _list_contenders(self) -> Iterator[Object]:
        since = self.queue.now - RECENTLY
        for each in self.pods.values():
            ours = each.object["spec"]["schedulerName"] == workload.OURS
            recent = (each.bound_at is None or each.bound_at > since) and (
                each.ended_at is None or each.ended_at > since
            )
            if ours and recent:
                yield each.object
        for uid, job in self._jobs.items():
            if self._ended.get(uid, self.queue.now) > since:
                yield queued_objects.pod_of(job, job["metadata"]["name"])

    def _may_evict(self, guest: Object, victim: Object) -> bool:
        theirs, its = self._find_queue(victim), self._find_queue(guest)
        quotas = self._quotas[-1][1]
        if theirs and its and quotas.root_of(theirs) == quotas.root_of(its):
            return True
        return workload.priority(guest) > workload.priority(victim)

    # --- when all is quiet ---------------------------------------------------------------------------------

    def unbound(self) -> list[str]:
        """Names of pods that could be bound and are not, and of Jobs that are still suspended."""
        waiting = [
            job["metadata"]["name"]
            for job in self.api.all(JOBS)
            if job["spec"]["suspend"] and not queued_objects.is_complete(job)
        ]
        return [*super().unbound(), *waiting]

    def halves(self) -> list[str]:
        """Gangs that are neither whole nor not begun, and Jobs of which pods have no nodes."""
        found = []
        for job in self.api.all(JOBS):
            uid = job["metadata"]["uid"]
            bound = sum(
                owner_of(each.object) == uid and bool(each.node) and not each.finished and not each.removed
                for each in self.pods.values()
            )
            if not job["spec"]["suspend"] and bound < queued_objects.count_missing(job):
                found.append(job["metadata"]["name"])
        return [*super().halves(), *found]

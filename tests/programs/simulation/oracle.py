"""What must hold whatever happens, by the API server's history and what passes over streams alone.

A binding is judged by what the bridge could know: ``Request.seen`` says up to which moment it had dealt with pods and
nodes when it last looked at the node. Pods that others bound later than that are no fault of its; those that it bound
itself always count. A node may have shrunk, been cordoned or gone since then, too.

The server may come back from a copy. What has been written since is taken back then: a pod may be bound again that is
not bound in the copy, and only that. What the copy brings back happened at that moment, and nobody's doing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.simulation import trees, workload
from tests.programs.simulation.actors import leaving
from tests.programs.simulation.api_server import (
    GROUPS,
    LEASES,
    NODES,
    PODS,
    ApiServer,
    Copy,
    Object,
    Request,
    finished,
)
from tests.programs.simulation.event_queue import EventQueue
from tests.programs.simulation.streams import Monitor, Stream

RECENTLY = 60.0
"""Seconds for which a pod without a node counts as a reason for an eviction, which takes a while to be carried out."""


KNOWN_AFTER = 40.0
"""Seconds after which a bridge knows what has become of a binding, with all that may happen to its answer."""


def list_gangs(pod: Object) -> list[str]:
    """The gangs that a pod is in: of a tree of groups the whole, and each group on the way to the pod."""
    leaf = trees.leaf_of(pod).split("-")
    gang = workload.gang_of(pod)
    return [gang, *("-".join(leaf[: end + 1]) for end in range(1, len(leaf)))] if gang else []


@dataclass
class PodHistory:
    """What the history says of one pod, by moments; None for what has not happened.

    ``taken_back``: the nodes that it was bound to before the server came back from a copy in which it is not.
    """

    object: Object
    created: int
    bound: int | None = None
    bound_by: str = ""
    bound_at: float | None = None
    leaving: int | None = None
    finished: int | None = None
    removed: int | None = None
    ended_at: float | None = None
    holdings: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    """What it has held of its node by the kubelet's rule, since which moment."""
    taken_back: set[str] = field(default_factory=set)

    def held(self, resource: str, seen: int) -> int:
        """The least that it has held since as much had happened as somebody knows who has seen a moment."""
        before = [held for moment, held in self.holdings if moment <= seen][-1:]
        since = [held for moment, held in self.holdings if moment > seen]
        return min(each.get(resource, 0) for each in (*before, *since))

    @property
    def node(self) -> str:
        return str(self.object["spec"].get("nodeName", ""))

    def counts(self, since: float, seen: int) -> bool:
        """Whether it had not ended at a time, nor as far as somebody knows who has seen a moment."""
        ends = [each for each in (self.leaving, self.finished, self.removed) if each is not None]
        return self.ended_at is None or self.ended_at > since or min(ends) > seen


@dataclass
class _Stream:
    """What has passed over a stream."""

    fencing: int = 0
    received: int = 0
    acknowledged: int = 0
    welcomed: bool = False
    ephemeral: bool = False


@dataclass
class Oracle(Monitor):
    """Follows the ``api`` server. ``violation`` is what did not hold first: an exception could be swallowed."""

    queue: EventQueue
    api: ApiServer
    pods: dict[str, PodHistory] = field(default_factory=dict)
    nodes: dict[str, list[tuple[int, Object | None]]] = field(default_factory=lambda: defaultdict(list))
    whole: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Gangs that have been whole, with who bound the last pod that it took, and when."""
    whole_since: dict[str, int] = field(default_factory=dict)
    """By moments."""
    seemed_whole: set[str] = field(default_factory=set)
    """Gangs that a bridge may have seen whole, because it heard too late that one of their pods had ended."""
    holder: str = ""
    """Who holds the Lease."""
    leases: dict[str, float] = field(default_factory=dict)
    """Until when those held it who ever have, as far as they have renewed it."""
    renewed: dict[str, int] = field(default_factory=dict)
    """The moment of the last renewal of each."""
    restored_at: int = 0
    """The moment at which the server last came back from a copy."""
    streams: dict[Stream, _Stream] = field(default_factory=dict)
    owed: list[tuple[str, str, list[PodHistory]]] = field(default_factory=list)
    """For evicted pods whose groups leave as a whole: who evicted, the name of the pod, and the others of the group."""
    violation: str = ""
    bindings: int = 0
    evictions: int = 0

    def __post_init__(self) -> None:
        self.api.on_binding = self.binding
        self.api.on_eviction = self.eviction
        self.api.on_asked = self.asked
        self.api.on_repetition = self.repetition
        self.api.on_event = self.event
        self.api.on_restored = self.restored

    def fail(self, words: str) -> None:
        """Something does not hold."""
        self.queue.tell(f"VIOLATION {words}")
        self.violation = self.violation or words

    # --- the history ---------------------------------------------------------------------------------------

    def changed(self, path: str, kind: str, found: Object) -> None:
        """Take a write."""
        moment = self.api.moment
        if path == NODES:
            self.nodes[found["metadata"]["name"]].append((moment, None if kind == "DELETED" else found))
        if path == LEASES:
            spec = found["spec"]
            self.holder = spec.get("holderIdentity", "")
            self.leases[self.holder] = self.queue.now + spec["leaseDurationSeconds"]
            self.renewed[self.holder] = moment
        if path != PODS:
            return
        record = self.pods.get(found["metadata"]["uid"])
        if record is None:
            record = self.pods[found["metadata"]["uid"]] = PodHistory(found, moment)
        self._note(record, found, moment)
        if kind == "DELETED":
            record.removed = moment
            record.ended_at = record.ended_at or self.queue.now

    def _note(self, record: PodHistory, found: Object, moment: int) -> None:
        record.object = found
        held = workload.held(found)
        if not record.holdings or record.holdings[-1][1] != held:
            record.holdings.append((moment, held))
        if leaving(found) and record.leaving is None:
            record.leaving = moment
        if finished(found) and record.finished is None:
            record.finished = moment
        if (record.leaving or record.finished or record.removed) and record.ended_at is None:
            record.ended_at = self.queue.now

    def restored(self, copy: Copy) -> None:
        """Take that the server has come back from a copy."""
        self.owed.clear()
        moment = self.restored_at = self.api.moment
        there = {each["metadata"]["uid"]: each for each in copy.objects[PODS].values()}
        for uid, record in list(self.pods.items()):
            if uid not in there and record.removed is None:
                record.removed = moment
                record.ended_at = record.ended_at or self.queue.now
        for uid, found in there.items():
            self._restore(uid, found, moment)
        nodes = {each["metadata"]["name"]: each for each in copy.objects[NODES].values()}
        for name in self.nodes.keys() | nodes.keys():
            state = nodes.get(name)
            if not self.nodes[name] or self.nodes[name][-1][1] is not state:
                self.nodes[name].append((moment, state))
        self.whole_since = {gang: at for gang, at in self.whole_since.items() if at <= copy.moment}
        self.whole = dict.fromkeys(self.whole_since, ("", self.queue.now))
        self.holder = next(
            (each["spec"].get("holderIdentity", "") for each in copy.objects[LEASES].values()), ""
        )

    def _restore(self, uid: str, found: Object, moment: int) -> None:
        """Take a pod as it is in a copy; what it knows of itself otherwise has never happened."""
        record = self.pods.get(uid)
        if record is None:
            record = self.pods[uid] = PodHistory(found, moment)
        elif record.object is found and record.removed is None:
            return
        node = found["spec"].get("nodeName", "")
        if record.node and record.node != node:
            record.taken_back.add(record.node)
        returns = record.bound is None or record.node != node or record.ended_at is not None
        record.leaving = record.finished = record.removed = record.ended_at = None
        self._note(record, found, moment)
        if not node:
            record.bound, record.bound_by, record.bound_at = None, "", None
        elif returns:
            record.bound, record.bound_by, record.bound_at = moment, "a copy", self.queue.now

    # --- bindings ------------------------------------------------------------------------------------------

    def binding(self, request: Request | None, pod: Object, node: str) -> None:
        """Judge a binding that is about to take effect."""
        record = self.pods[pod["metadata"]["uid"]]
        if record.bound is not None:
            self.fail(f"{pod['metadata']['name']} is bound a second time, to {node}")
        if request is not None:
            self.bindings += 1
            self._judge_room(request, pod, node)
            self._judge_neighbours(request, pod, node)
            self._judge_gang(request, pod)
        record.bound, record.bound_by = self.api.moment + 1, request.client if request else workload.RIVAL
        record.bound_at = self.queue.now
        for gang in list_gangs(pod):
            if not self._lacks(gang, [*self._bound(gang, but=record), record]):
                self.whole.setdefault(gang, (record.bound_by, self.queue.now))
                self.whole_since.setdefault(gang, record.bound)
            if request is not None and not self._lacks(gang, self._seem_bound(gang, request)):
                self.seemed_whole.add(gang)

    def _here(self, request: Request, node: str) -> list[PodHistory]:
        """The pods on a node that a bridge had to count with."""
        seen = request.seen.get(PODS, 0)
        return [
            each
            for each in self.pods.values()
            if each.node == node
            and each.removed is None
            and each.finished is None
            and (each.bound_by == request.client or (each.bound or 0) <= seen)
        ]

    def _judge_room(self, request: Request, pod: Object, node: str) -> None:
        seen = request.seen.get(NODES, 0)
        states = self.nodes[node]
        known = [each for moment, each in states if moment <= seen][-1:]
        later = [each for moment, each in states if moment > seen]
        if not known or known[0] is None:
            if not any(each is not None for each in later):
                self.fail(f"{pod['metadata']['name']} is bound to {node}, which was known to be gone")
            known = []
        offers = [each for each in (*known, *later) if each is not None]
        if not offers:
            return
        if all(each["spec"].get("unschedulable") or each["spec"].get("taints") for each in offers):
            self.fail(f"{pod['metadata']['name']} is bound to {node}, which was known to take nothing")
        here = self._here(request, node)
        for resource, amount in workload.requests(pod).items():
            used = sum(each.held(resource, request.seen.get(PODS, 0)) for each in here)
            offered = max(workload.allocatable(each).get(resource, 0) for each in offers)
            if used + amount > offered:
                others = ", ".join(each.object["metadata"]["name"] for each in here)
                self.fail(
                    f"{pod['metadata']['name']} overfills {node} with {resource}: {used} + {amount} > {offered} "
                    f"beside {others}"
                )

    def _judge_neighbours(self, request: Request, pod: Object, node: str) -> None:
        """Pods that must be apart are: as far as this bridge has bound both."""
        labels = pod["metadata"]["labels"]
        if "apart" in labels:
            for each in self._here(request, node):
                same = each.object["metadata"]["labels"].get("app") == labels["app"]
                if same and each.bound_by == request.client:
                    self.fail(f"{pod['metadata']['name']} joins {each.object['metadata']['name']} on {node}")

        self._judge_zone(request, pod, node)

    def _judge_zone(self, request: Request, pod: Object, node: str) -> None:
        """A group of a tree that keeps to one zone does, and one that may have so many pods in each has no more: as far
        as this bridge has bound them, and seen that.
        """
        zone, seen = self._zone(node), request.seen.get(PODS, 0)
        bound = []
        for each in self.pods.values():
            ended = each.removed or each.finished or each.leaving
            if (
                not ended
                and each.bound is not None
                and each.bound <= seen
                and each.bound_by == request.client
            ):
                bound.append(each)
        for below in trees.list_zoned(self.api, pod):
            for each in bound:
                if trees.leaf_of(each.object) in below and self._zone(each.node) not in (zone, ""):
                    other = each.object["metadata"]["name"]
                    self.fail(f"{pod['metadata']['name']} goes to {zone}, away from {other} on {each.node}")
        most, leaf = trees.find_most(self.api, pod), trees.leaf_of(pod)
        there = sum(trees.leaf_of(each.object) == leaf and self._zone(each.node) == zone for each in bound)
        if most and there >= most:
            self.fail(
                f"{pod['metadata']['name']} joins {there} pods of {leaf} in {zone}, which may be {most}"
            )

    def _zone(self, node: str) -> str:
        states = [each for _, each in self.nodes[node] if each is not None]
        return str(states[-1]["metadata"]["labels"][workload.ZONE]) if states else ""

    # --- gangs ---------------------------------------------------------------------------------------------

    def members(self, gang: str) -> list[PodHistory]:
        """The pods of a gang that there have ever been."""
        return [each for each in self.pods.values() if gang in list_gangs(each.object)]

    def _lacks(self, gang: str, counted: Iterable[PodHistory]) -> int:
        """The fewest pods that a gang lacks beside those that are counted; 0 where its groups are not there."""
        done = [
            each.object
            for each in self.members(gang)
            if each.object["status"]["phase"] == "Succeeded" and each.removed is None
        ]
        there = [each.object for each in counted]
        if gang.startswith("tree"):
            return trees.count_lacking(self.api, gang, there, Counter(map(trees.leaf_of, done)))
        found = self.api.find(GROUPS, workload.NAMESPACE, gang)
        return max(0, int(found["spec"]["minMember"]) - len(done) - len(there)) if found is not None else 0

    def _is_there(self, gang: str) -> bool:
        """Whether the groups of a gang exist: they may not be in the copy that the server came back from."""
        if gang.startswith("tree"):
            return trees.has_all_groups(self.api, gang)
        return self.api.find(GROUPS, workload.NAMESPACE, gang) is not None

    def lacks_group(self, uid: str) -> bool:
        """Whether a pod without a node waits for a group that is not there."""
        record = self.pods[uid]
        gang = workload.gang_of(record.object)
        return not record.node and gang is not None and not self._is_there(gang)

    def _bound(self, gang: str, but: PodHistory | None = None) -> list[PodHistory]:
        return [
            each
            for each in self.members(gang)
            if each.bound is not None and each.removed is None and each.finished is None and each is not but
        ]

    def _seem_bound(self, gang: str, request: Request) -> list[PodHistory]:
        """The pods of a gang that are bound as far as a bridge knows that has just had one bound."""
        seen = request.seen.get(PODS, 0)
        return [
            each
            for each in self.members(gang)
            if each.bound is not None and each.counts(self.queue.now, seen)
        ]

    def begin_anew(self, gang: str) -> None:
        """Judge a gang, all pods of which are gone, as if there had been none."""
        self.whole.pop(gang, None)
        self.whole_since.pop(gang, None)
        self.seemed_whole.discard(gang)

    def _judge_gang(self, request: Request, pod: Object) -> None:
        """No gang begins to be bound before enough of it exist, or did when that was decided.

        A bridge that hears late of deletions, or whose request is under way for long, cannot know better.
        """
        since, seen = self.queue.now - RECENTLY, request.seen.get(PODS, 0)
        for gang in list_gangs(pod):
            there = [each for each in self.members(gang) if each.counts(since, seen)]
            lacks = self._lacks(gang, there) if gang not in self.whole else 0
            if lacks:
                name = pod["metadata"]["name"]
                self.fail(f"{name} is bound while {gang} lacks {lacks} pods beside {len(there)}")

    # --- evictions -----------------------------------------------------------------------------------------

    def eviction(self, request: Request, pod: Object) -> None:
        """Judge an eviction that is about to take effect."""
        uid = pod["metadata"]["uid"]
        record = self.pods[uid]
        if record.removed is not None or record.finished is not None or record.leaving is not None:
            return
        self.evictions += 1
        together = trees.list_disrupted_together(self.api, pod)
        # What an earlier eviction has made due makes nothing due itself: others may have come meanwhile.
        if together and not any(record in others for _, _, others in self.owed):
            seen = request.seen.get(PODS, 0)
            others = [
                each
                for each in self.pods.values()
                if each is not record
                and trees.leaf_of(each.object) in together
                and each.bound is not None
                and each.bound <= seen
                and each.ended_at is None
            ]
            self.owed.append((request.client, pod["metadata"]["name"], others))
        gang = workload.gang_of(pod)
        if gang is not None and not self._known_whole(gang, request.client):
            return
        if not self.has_reason(pod):
            self.fail(f"{pod['metadata']['name']} is evicted by {request.client} for nobody more important")

    def judge_disruptions(self, clients: Collection[str]) -> None:
        """Judge, long after all evictions of ``clients``, that no group that leaves as a whole has left in part."""
        for client, name, others in self.owed:
            stay = [each.object["metadata"]["name"] for each in others if each.ended_at is None]
            if stay and client in clients:
                self.fail(f"{name} was evicted by {client}, and {', '.join(stay)} of its group stayed")

    def has_reason(self, pod: Object) -> bool:
        """Whether somebody more important comes, or did recently."""
        since = self.queue.now - RECENTLY
        return any(
            workload.priority(each.object) > workload.priority(pod)
            and each.object["spec"]["schedulerName"] == workload.OURS
            and (each.bound_at is None or each.bound_at > since)
            and (each.ended_at is None or each.ended_at > since)
            for each in self.pods.values()
        )

    def _known_whole(self, gang: str, client: str) -> bool:
        """Whether a gang has been whole for long enough under a bridge: others, and for less, cannot know for sure."""
        by, since = self.whole.get(gang, ("", 0.0))
        ends = [
            each.ended_at
            for each in self.members(gang)
            if each.bound is not None and each.ended_at is not None
        ]
        return by == client and min(ends, default=self.queue.now) - since >= KNOWN_AFTER

    # --- the Lease -----------------------------------------------------------------------------------------

    def asked(self, request: Request) -> None:
        """Judge who decides: nobody whose Lease has ended, or is somebody else's by now.

        From whom a stranger has taken it, or a server that came back from a copy, he may go on until he looks, or it
        ends: all candidates wait for that, unless it is free in the copy.
        """
        if not self.leases:
            return
        if self.queue.now >= self.leases.get(request.client, 0.0):
            self.fail(f"{request.client} asks for {request.path} after its Lease has ended")
        elif (
            self.holder not in (request.client, workload.STRANGER)
            and self.renewed[request.client] > self.restored_at
        ):
            self.fail(f"{request.client} asks for {request.path}, and {self.holder!r} holds the Lease")

    # --- what is known, and said ---------------------------------------------------------------------------

    def repetition(self, request: Request) -> None:
        """Nobody asks for what he has been told is done."""
        self.fail(f"{request.client} posts {request.path} again, which it has been told is done")

    def event(self, request: Request, event: Object) -> None:
        """A pod is said to be assigned to the node that it is on."""
        record = self.pods.get(event["involvedObject"]["uid"])
        if event["reason"] == "Scheduled" and record is not None:
            node = event["message"].rpartition(" ")[2]
            if node != record.node and node not in record.taken_back:
                name = record.object["metadata"]["name"]
                self.fail(
                    f"{request.client} says that {name} is assigned to {node}, and it is on {record.node!r}"
                )

    # --- streams -------------------------------------------------------------------------------------------

    def opened(self, stream: Stream) -> None:
        self.streams[stream] = _Stream()

    def from_client(self, stream: Stream, message: pb.ClientMessage) -> None:
        told = self.streams.get(stream)
        if told is None:
            return
        if message.HasField("hello"):
            told.fencing, told.ephemeral = message.hello.fencing, message.hello.ephemeral
            self.queue.tell(
                f"{stream.client.name} greets the solver as {message.hello.cluster} {told.fencing}"
            )
        elif message.HasField("snapshot_end"):
            self.queue.tell(f"{stream.client.name} has told the solver everything")
        elif message.HasField("events"):
            told.received = message.events.sequence

    def from_server(self, stream: Stream, message: pb.ServerMessage) -> None:
        told = self.streams.get(stream)
        if told is None or told.ephemeral:
            return
        if message.HasField("welcome"):
            told.welcomed = True
            newest = max(
                (each.fencing for other, each in self.streams.items() if self._drives(other, each, stream)),
                default=0,
            )
            ahead = (self.queue.wall() + 3600) * 1000
            if newest > told.fencing and newest <= ahead:
                self.fail(f"driver {told.fencing} takes over from {newest}, which is newer and connected")
        elif message.HasField("ack"):
            if not told.acknowledged <= message.ack.sequence <= told.received:
                self.fail(
                    f"batch {message.ack.sequence} is acknowledged after {told.acknowledged}, of {told.received}"
                )
            told.acknowledged = message.ack.sequence

    def _drives(self, other: Stream, told: _Stream, stream: Stream) -> bool:
        return other is not stream and other.server is stream.server and told.welcomed and not told.ephemeral

    def ended(self, stream: Stream, code: str, details: str) -> None:
        self.streams.pop(stream, None)
        self.queue.tell(f"the stream of {stream.client.name} ends: {code} {details}")

    # --- when all is quiet ---------------------------------------------------------------------------------

    def unbound(self) -> list[str]:
        """Names of pods that could be bound and are not, and of gangs that are neither whole nor not begun."""
        found = []
        for each in self.pods.values():
            gone = each.removed is not None or each.finished is not None or each.leaving is not None
            if gone or each.node or each.object["spec"]["schedulerName"] != workload.OURS:
                continue
            gangs = list_gangs(each.object)
            if all(self._is_there(gang) and not self._lacks(gang, self._alive(gang)) for gang in gangs):
                found.append(each.object["metadata"]["name"])
        return found

    def halves(self) -> list[str]:
        """Gangs that are neither whole nor not begun, and never were whole."""
        gangs = {gang for each in self.pods.values() for gang in list_gangs(each.object)}
        begun = [gang for gang in gangs if gang not in self.whole.keys() | self.seemed_whole]
        return sorted(g for g in begun if (bound := self._bound(g)) and self._lacks(g, bound))

    def _alive(self, gang: str) -> list[PodHistory]:
        return [
            each
            for each in self.members(gang)
            if each.removed is None and each.finished is None and each.leaving is None
        ]

    def forget_gone(self) -> None:
        """Drop what nothing is judged by any more, so that long histories stay cheap."""
        since = self.queue.now - 2 * RECENTLY
        gone = [
            uid
            for uid, each in self.pods.items()
            if each.removed is not None and (each.ended_at or 0) < since
        ]
        for uid in gone:
            del self.pods[uid]

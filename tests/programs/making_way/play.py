"""The bridge's state and the solver's core as one machine: no processes, no sockets, and a clock that a test moves."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from firmament.core.configuration import RoundOptions
from firmament.core.scheduler import Scheduler
from firmament.wire.events import events_from_proto, reports_from_proto
from firmament.wire.rounds import round_to_proto
from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pods import Pod
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import Action, Bind, Evict, WithdrawEviction
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.support.core import Clock, scheduler

Fails = Callable[[str], str]
"""Given the name of a pod, why the API server refuses what is asked for it this time, "" if it does not."""


def never(_: str) -> str:
    return ""


@dataclass(slots=True)
class Known:
    """A pod as the API server has it; ``cores``: how many it asks for, ``grace``: seconds that it takes to stop."""

    name: str
    cores: int
    priority: int
    grace: float
    spec: dict[str, Any]
    node: str = ""
    deleting: bool = False
    nominated: str = ""

    def object(self) -> Pod:
        return pod(
            self.name,
            cpu=str(self.cores),
            priority=self.priority,
            node=self.node,
            deleting=self.deleting,
            phase="Running" if self.node else "Pending",
            nominated=self.nominated,
            **self.spec,
        )


@dataclass(slots=True)
class Play:
    """``nodes``: cores by name. What happens at which second is put in with ``at``; ``run`` lets time pass.

    ``bound``: seconds at which pods were bound, ``evicted``: names in the order in which they were told to go;
    ``left_for``: for whom, and from which node.
    ``refuses_binding``, ``refuses_eviction``: what the API server answers, a binding after ``latency`` seconds.
    """

    nodes: dict[str, int]
    options: RoundOptions | None = None
    refuses_binding: Fails = never
    refuses_eviction: Fails = never
    latency: float = 0.0
    pods: dict[str, Known] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    evicted: list[str] = field(default_factory=list)
    left_for: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=lambda: Clock(1_000.0))
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: count[int] = field(default_factory=count)
    state: BridgeState = field(init=False)
    core: Scheduler = field(init=False)

    def __post_init__(self) -> None:
        self.start_bridge()

    # --- what a test does ------------------------------------------------------------------------------------

    def at(self, second: float, what: Callable[[], None]) -> None:
        """Have something happen so many seconds from the beginning."""
        heapq.heappush(self._due, (1_000.0 + second, next(self._number), what))

    def create(
        self, name: str, cores: int, *, priority: int = 0, grace: float = 1.0, on: str = "", **spec: Any
    ) -> None:
        """Create a pod, one that runs already if ``on`` names a node."""
        self.pods[name] = Known(name, cores, priority, grace, spec, on)
        self._watched(name)

    def add_node(self, name: str, cores: int) -> None:
        """Add a node."""
        self.nodes[name] = cores
        self.state.nodes_changed([present(node(name, cpu=str(cores)))])

    def delete(self, name: str) -> None:
        """Delete a pod at once, as when it has ended."""
        known = self.pods.pop(name, None)
        if known is not None:
            self.state.pods_changed([gone(known.object())])

    def start_bridge(self) -> None:
        """Begin with a bridge, and so a stream, that knows only what the API server says."""
        self.state = BridgeState(clock=self.clock, wall=self.clock)
        self.state.nodes_changed([present(node(name, cpu=str(cores))) for name, cores in self.nodes.items()])
        self.state.pods_changed([present(each.object()) for each in self.pods.values()])
        self.start_solver()

    def start_solver(self) -> None:
        """Begin with a solver that is told everything anew."""
        self.core = scheduler(options=self.options, clock=self.clock)
        self.state.take_reports()
        self.core.apply(events_from_proto(self.state.snapshot()))

    def run(self, seconds: float) -> None:
        """Let time pass: do what is due, in order, and let both processes do what follows from it."""
        end = self.clock.now + seconds
        self.settle()
        while True:
            wait = self.core.next_round_in()
            moments = [self._due[0][0]] if self._due else []
            moments += [self.clock.now + wait] if wait is not None else []
            if not moments or min(moments) > end:
                break
            self.clock.now = max(self.clock.now, min(moments))
            self._happen()
            self.settle()
        self.clock.now = end

    def settle(self) -> None:
        """Tell, decide and carry out until nothing moves at this moment."""
        for _ in range(200):
            self.exchange()
            if self.core.next_round_in() != 0.0:
                return
            self.state.on_round(round_to_proto(self.core.run_round()))
        raise AssertionError("both processes go on without end")

    def exchange(self) -> None:
        """Tell the solver what is new, and carry out what the bridge asks for, until neither brings anything."""
        while True:
            reports, events = self.state.take_reports(), self.state.take_events()
            self.core.apply(events_from_proto(events))
            self.core.report(reports_from_proto(pb.BindingReports(reports=reports)))
            actions = self.state.take_actions()
            for action in actions:
                self._carry_out(action)
            if not (actions or reports or events):
                return

    # --- what a test asks ------------------------------------------------------------------------------------

    def seconds(self, name: str) -> float:
        """The second at which a pod was bound."""
        return round(self.bound[name] - 1_000.0, 3)

    def used(self, name: str) -> int:
        """Cores that the pods on a node ask for, those that are stopping included."""
        return sum(each.cores for each in self.pods.values() if each.node == name)

    # --- the API server --------------------------------------------------------------------------------------

    def _happen(self) -> None:
        while self._due and self._due[0][0] <= self.clock.now:
            heapq.heappop(self._due)[2]()

    def _watched(self, name: str) -> None:
        self.state.pods_changed([present(self.pods[name].object())])

    def _carry_out(self, action: Action) -> None:
        match action:
            case Bind(ref, at):
                self._post(BindRequest(ref.uid, ref.namespace, ref.name, at), self.state)
            case Evict(ref, at, beyond, message):
                self._evict(EvictionRequest(ref, at, beyond, message))
            case NominatedNodeWrite(ref, at):
                if ref.name in self.pods:
                    self.pods[ref.name].nominated = at
            case WithdrawEviction():
                pass  # evictions are carried out at once, so it is too late
            case _:
                pass

    def _post(self, request: BindRequest, asked_by: BridgeState) -> None:
        def carried_out() -> None:
            if self.state is asked_by:  # else that bridge has been killed before it posted anything
                self._bind(request)

        if self.latency:
            self.at(self.clock.now - 1_000.0 + self.latency, carried_out)
        else:
            carried_out()

    def _bind(self, request: BindRequest) -> None:
        reason = self.state.refusal(request.uid, request.node)
        result = BindResult.WITHHELD if reason else BindResult.FAILED
        known = self.pods.get(request.name)
        if known is None:
            result, reason = BindResult.GONE, "it is gone"
        reason = reason or self.refuses_binding(request.name)
        if not reason and known is not None:
            result = BindResult.BOUND
            known.node = request.node
            self.bound[request.name] = self.clock.now
            assert self.used(request.node) <= self.nodes[request.node], f"{request.node} holds too much"
        self.state.binding_ended(BindOutcome(request, result, reason))
        if result is BindResult.BOUND:
            self._watched(request.name)

    def _evict(self, request: EvictionRequest) -> None:
        name = request.pod.name
        known = self.pods.get(name)
        if known is None:
            self.state.eviction_ended(EvictionOutcome(request, gone=True))
            return
        refusal = "" if request.beyond_budget else self.refuses_eviction(name)
        if not refusal:
            self.evicted.append(name)
            _, _, whom = request.message.partition("Preempted by pod default/")
            self.left_for[whom.partition(" ")[0]] = request.node
            known.deleting = True
            self.at(self.clock.now - 1_000.0 + known.grace, lambda: self._stopped(known))
        self.state.eviction_ended(EvictionOutcome(request, refusal))
        if not refusal:
            self._watched(name)

    def _stopped(self, known: Known) -> None:
        if self.pods.get(known.name) is known:
            self.delete(known.name)

"""Defines the phases of a pod in the bridge, and the events that lead from one phase to another.

The bridge has a record of each pod that this scheduler has to place, or that uses capacity on a node. Every change of
phase is an event in this module's table; only ``pod_records`` carries out events. A record also says what the solver
knows of the pod (``PodRecord.sent``), and why the pod is not sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from poseidon.kube.api.metadata import PodRef
from poseidon.pods.tasks import Task

CAPACITY = 50_000
"""The number of steps that are kept, for all pods together; about 5 MB."""


class Phase(Enum):
    """Phases of a pod; the value is its name for people."""

    __hash__ = (
        object.__hash__
    )  # Each member is one object, and Enum's own hash would cost more than all other work of a step.

    HELD = "held"
    """Not sent to the solver: the pod waits for its group, queue, claims or priority class, or could not be handled."""
    PENDING = "pending"
    """Sent to the solver, which is to find a node."""
    PLACED = "placed"
    """A round has given the pod a node; the bridge has not checked yet whether the binding must wait."""
    WAITING = "waiting for pods"
    """The binding waits until victims have left the node, or until pods that the pod depends on are bound."""
    BINDING_CLAIMS = "binding claims"
    """The pod's claims are being bound; the pod is bound after them."""
    BINDING = "binding"
    """The binding has been posted to the API server, or is about to be."""
    ANSWER_DUE = "bound, answer due"
    """The watch shows the pod on a node, but the answer to its binding has not come yet."""
    BOUND = "bound"
    """The pod is on its node: the API server has accepted the binding, or shows the pod there."""
    EVICTING = "being evicted"
    """The pod is on its node, and its eviction is under way."""
    LEAVING = "leaving"
    """The pod is on its node, and is being deleted."""


class Event(Enum):
    """Events in the life of a pod; the value is the name for people."""

    __hash__ = object.__hash__

    OFFERED = "nothing holds it back"
    HELD_BACK = "held back"
    PLACED = "placed by the solver"
    WAITS = "has to wait for pods"
    RELEASED = "pods waited for are settled"
    CLAIMS_BEGUN = "binding of claims begun"
    POSTED = "binding posted"
    GIVEN_UP = "placement given up"
    ACCEPTED = "binding accepted"
    REFUSED = "binding refused"
    SHOWN = "shown on a node"
    DELETED = "deletion shown"
    EVICTED = "asked to leave"
    STAYS = "stays after all"


_P = Phase
UNPLACED = frozenset({_P.HELD, _P.PENDING})
UNDER_WAY = frozenset({_P.PLACED, _P.WAITING, _P.BINDING_CLAIMS, _P.BINDING})
ON_NODE = frozenset({_P.BOUND, _P.EVICTING, _P.LEAVING})
_ALL = frozenset(_P)

IN_FLIGHT = UNDER_WAY | {_P.ANSWER_DUE}
"""Phases in which a binding of this process is under way, or in which the answer to a binding has not come yet."""
GOING = frozenset({_P.EVICTING, _P.LEAVING})
"""Phases in which the pod is about to leave its node."""


class _Row(NamedTuple):
    """The effect of an event: the phases that it changes, leaves unchanged, or in which it is refused."""

    moves: Mapping[Phase, Phase]
    stays: frozenset[Phase] = frozenset()
    refused: Mapping[str, frozenset[Phase]] = MappingProxyType({})


def _all_to(phases: frozenset[Phase], target: Phase) -> dict[Phase, Phase]:
    return dict.fromkeys(sorted(phases, key=lambda phase: phase.name), target)


TABLE: Mapping[Event, _Row] = MappingProxyType(
    {
        Event.OFFERED: _Row({_P.HELD: _P.PENDING}, stays=_ALL - {_P.HELD}),
        Event.HELD_BACK: _Row({_P.PENDING: _P.HELD}, stays=_ALL - {_P.PENDING}),
        Event.PLACED: _Row(
            {_P.PENDING: _P.PLACED},
            refused={"must not be scheduled now": frozenset({_P.HELD}), "has a node": _ALL - UNPLACED},
        ),
        Event.WAITS: _Row({_P.PLACED: _P.WAITING}, refused={"has not just been placed": _ALL - {_P.PLACED}}),
        Event.RELEASED: _Row(
            {_P.WAITING: _P.PLACED}, refused={"does not wait for pods": _ALL - {_P.WAITING}}
        ),
        Event.CLAIMS_BEGUN: _Row(
            {_P.PLACED: _P.BINDING_CLAIMS}, refused={"has not just been placed": _ALL - {_P.PLACED}}
        ),
        Event.POSTED: _Row(
            {_P.PLACED: _P.BINDING, _P.BINDING_CLAIMS: _P.BINDING},
            refused={"is not about to be bound": _ALL - {_P.PLACED, _P.BINDING_CLAIMS}},
        ),
        Event.GIVEN_UP: _Row(
            _all_to(UNDER_WAY, _P.PENDING),
            refused={"has no placement": UNPLACED, "is on its node": _ALL - UNDER_WAY - UNPLACED},
        ),
        # The answer may belong to an earlier binding to the same node, which was given up and posted again.
        Event.ACCEPTED: _Row(
            _all_to(UNDER_WAY | {_P.ANSWER_DUE}, _P.BOUND),
            stays=ON_NODE,
            refused={"is not being bound": UNPLACED},
        ),
        Event.REFUSED: _Row(
            {_P.BINDING: _P.PENDING, _P.ANSWER_DUE: _P.BOUND},
            stays=ON_NODE | UNDER_WAY - {_P.BINDING},
            refused={"is not being bound": UNPLACED},
        ),
        # If this event comes before the answer, the binding may be this process's or another program's.
        Event.SHOWN: _Row(
            {
                **_all_to(UNPLACED | UNDER_WAY - {_P.BINDING}, _P.BOUND),
                _P.BINDING: _P.ANSWER_DUE,
            },
            stays=ON_NODE | {_P.ANSWER_DUE},
        ),
        Event.DELETED: _Row(
            _all_to(ON_NODE - {_P.LEAVING} | {_P.ANSWER_DUE}, _P.LEAVING),
            stays=frozenset({_P.LEAVING}),
            refused={"is on no node": UNPLACED | UNDER_WAY},
        ),
        Event.EVICTED: _Row(
            {_P.BOUND: _P.EVICTING, _P.ANSWER_DUE: _P.EVICTING},
            stays=frozenset({_P.EVICTING, _P.LEAVING}),
            refused={"is on no node": UNPLACED, "is being bound": UNDER_WAY},
        ),
        Event.STAYS: _Row({_P.EVICTING: _P.BOUND}, stays=_ALL - {_P.EVICTING}),
    }
)
"""The effect of every event in each phase."""


class RefusedEventError(Exception):
    """An event was noted for a pod in a phase in which that event cannot happen."""


_NEXT: Mapping[tuple[Phase, Event], Phase] = MappingProxyType(
    {
        (phase, event): row.moves.get(phase, phase)
        for event, row in TABLE.items()
        for phase in (*row.moves, *row.stays)
    }
)


def next_phase(phase: Phase, event: Event) -> Phase:
    """Return the phase that follows ``phase`` after ``event``; raises ``RefusedEventError`` with the table's reason."""
    found = _NEXT.get((phase, event))
    if found is None:
        why = next(words for words, phases in TABLE[event].refused.items() if phase in phases)
        raise RefusedEventError(f"{event.value}: the pod is {phase.value}: it {why}")
    return found


class SentState(NamedTuple):
    """The state of a task as last sent to a solver."""

    machine: str
    """The task's machine, "" while the task is pending."""
    task_class: int
    """Number of the task's class."""
    job: str
    """Id of its job."""
    priority: int
    """Value of the task's PriorityClass."""
    initialized: float = 0.0
    """The time when the pod was initialized, in seconds since the epoch; 0: not yet, or no cost model needs it."""
    group_priority: int | None = None
    """Priority of the pod's group, which decides between pods of equal priority; None without a group."""
    spread: str = ""
    """Name of the group of pods that the default spread distributes over nodes, "" for none."""
    assumed: bool = False
    """Whether the binding of the task is under way."""


class PodRecord(Struct, eq=False, gc=False):
    """The state of one pod that concerns the solver.

    Only ``PodRecords.move`` writes ``phase``, ``node`` and ``binding``; only ``PodRecords.hold`` writes the reasons why
    the pod is not sent to the solver.
    """

    task: Task
    """The pod as a task of the protocol."""
    schedulable: bool
    """Whether this scheduler may place the pod now."""
    phase: Phase = Phase.HELD
    """The pod's phase in the lifecycle."""
    node: str = ""
    """The pod's node according to the API server, "" if none."""
    binding: str = ""
    """The node to which this process binds the pod, or has bound it; "" if none."""
    sent: SentState | None = None
    """The pod's state as last sent on the present stream, None if not sent."""
    message: str = ""
    """The last reported reason why the pod is unschedulable, "" if none was."""
    group_wait: str = ""
    """Why the pod waits for its group, "" if it does not."""
    queue_wait: str = ""
    """Why the pod waits for its queue, "" if it does not."""
    claims_wait: str = ""
    """Why the pod waits for its claims of volumes, "" if it does not."""
    claims_refuse: str = ""
    """Why the pod's claims allow no node at present, although the solver knows the pod; "" if they allow some node."""
    devices_wait: str = ""
    """Why the pod waits for its claims of devices, "" if it does not."""
    priority_wait: str = ""
    """Why the pod waits for its priority class, "" if it does not."""
    fault: str = ""
    """Why the pod could not be handled, "" if it could."""
    announced_at: float = float("-inf")
    """The time when ``message`` was reported, in seconds of the monotonic clock."""
    said_here: bool = False
    """Whether this process reported ``message``, rather than an earlier process or the leader."""
    asked_to_leave: bool = False
    """Whether this process evicts the pod, or has suspended the pod's owner, so that the pod is to leave its node."""
    ran: bool = False
    """Whether some of the pod's containers may have run on its node."""
    nominated: str = ""
    """The node in the pod's ``status.nominatedNodeName``, as far as known."""
    announced: bool = False
    """Whether the event about the pod's binding is written or about to be written."""
    uses_claims: bool = False
    """Whether the pod uses claims of volumes."""
    uses_devices: bool = False
    """Whether the pod uses claims of devices."""

    @property
    def ref(self) -> PodRef:
        """The pod's uid, namespace and name."""
        namespace, _, name = self.task.name.partition("/")
        return PodRef(self.task.uid, namespace, name)

    @property
    def place(self) -> str:
        """The node on which the pod runs, or will run if its binding succeeds; "" for none."""
        return self.node or self.binding

    @property
    def waits_for(self) -> str:
        """Why the pod is not sent to the solver as a pending task, "" if nothing prevents that."""
        held = self.fault or self.priority_wait or self.group_wait or self.queue_wait
        return held or self.claims_wait or self.devices_wait

    @property
    def in_flight(self) -> bool:
        """Whether a binding is under way."""
        return self.phase in IN_FLIGHT

    @property
    def going(self) -> bool:
        """Whether the pod is leaving its node, because of an eviction or because another program deletes it."""
        return self.phase in GOING

    @property
    def offered(self) -> bool:
        """Whether the solver may place the pod as soon as it has no node."""
        return self.schedulable and not self.waits_for

    @property
    def awaits_report(self) -> bool:
        """Whether the solver placed the pod on this stream, and so needs only a report of the binding."""
        return self.sent is not None and not self.sent.machine

    def get_desired_state(self) -> SentState | None:
        """Return the state of the pod to send to a solver that knows all machines.

        None if the solver should not know the pod.
        """
        place = self.place
        if not place and not self.offered:
            return None
        task = self.task
        return SentState(
            place,
            task.task_class,
            task.job,
            task.priority,
            task.initialized,
            task.group_priority,
            task.spread,
            not self.node and self.phase in UNDER_WAY,
        )


class Stories:
    """The latest lifecycle steps of all pods, in order, for debug pages. ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float], capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, str, Event, Phase, Phase, str]] = deque(maxlen=capacity)

    def note(self, uid: str, event: Event, before: Phase, after: Phase, place: str) -> None:
        """Store a step of a pod: the event, the phases before and after it, and the pod's node."""
        self._steps.append((self._clock(), uid, event, before, after, place))

    def list_lines(self, uid: str) -> list[str]:
        """Return the known steps of a pod, oldest first, as lines for people."""
        now, lines = self._clock(), []
        for at, whose, event, before, after, place in list(self._steps):
            if whose == uid:
                where = f" node={place}" if place else ""
                steps = f"{event.value}: {before.value} -> {after.value}{where}"
                lines.append(f"{now - at:.3f} s ago: {steps}")
        return lines

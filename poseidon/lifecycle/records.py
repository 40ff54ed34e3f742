"""What the bridge remembers of each pod: no more than it takes to describe it to a solver and to bind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from poseidon.kube.api.references import PodRef
from poseidon.lifecycle.phases import GOING, IN_FLIGHT, UNDER_WAY, Phase

if TYPE_CHECKING:
    from poseidon.pods.tasks import Task


class SentState(NamedTuple):
    """How a task stands in a solver's books; ``machine`` is "" while it is pending there.

    ``initialized`` is when it was, 0 for not yet and where no model asks; ``assumed``: its binding is under way; the
    others as in ``Task``.
    """

    machine: str
    task_class: int
    job: str
    priority: int
    initialized: float = 0.0
    group_priority: int | None = None
    spread: str = ""
    assumed: bool = False


class PodRecord(Struct, eq=False, gc=False):
    """One pod that a solver should know of.

    ``phase``, ``node`` and ``binding`` are written by ``Tasks.move`` alone, what holds it back by ``Tasks.hold``.
    ``schedulable``: it is for this scheduler to place, and may be placed now. ``node`` is where the API server says
    that it runs, "" if nowhere. ``binding`` is the node that this process is binding it to, or has bound it to.
    ``told`` is what the current stream's solver was told last. ``message`` is the reason last reported for its being
    unschedulable, "" if none was, and ``announced_at`` when that was, by the monotonic clock; ``said_here``: by this
    process, not by one before it or by the one that leads. ``waits_for`` is why it is not offered to the solver
    although it is schedulable, in words for people, "" if it is: because it could not be dealt with (``fault``), or for
    its priority class, its group, or its claims. ``claims_refuse`` is why its claims let it have no node at present,
    although it is offered, "" if they do. ``ran``: something of it may have run on its node. ``nominated`` is the node
    that its status names as the one where pods make way for it, as far as is known here. ``announced``: its event that
    it has been bound is under way or written.
    """

    task: Task
    schedulable: bool
    phase: Phase = Phase.HELD
    node: str = ""
    binding: str = ""
    told: SentState | None = None
    message: str = ""
    group_wait: str = ""
    claims_wait: str = ""
    claims_refuse: str = ""
    priority_wait: str = ""
    fault: str = ""
    announced_at: float = float("-inf")
    said_here: bool = False
    ran: bool = False
    nominated: str = ""
    announced: bool = False

    @property
    def ref(self) -> PodRef:
        """The pod's name in the API."""
        namespace, _, name = self.task.name.partition("/")
        return PodRef(self.task.uid, namespace, name)

    @property
    def place(self) -> str:
        """Where it runs, or will if all goes well; "" if nowhere."""
        return self.node or self.binding

    @property
    def waits_for(self) -> str:
        """Why it is not offered to the solver, "" if it is."""
        return self.fault or self.priority_wait or self.group_wait or self.claims_wait

    @property
    def in_flight(self) -> bool:
        """Whether a binding is under way."""
        return self.phase in IN_FLIGHT

    @property
    def going(self) -> bool:
        """Whether it leaves its node, by eviction or because somebody else has deleted it."""
        return self.phase in GOING

    @property
    def offered(self) -> bool:
        """Whether the solver may find a node for it, as long as it has none."""
        return self.schedulable and not self.waits_for

    @property
    def awaits_report(self) -> bool:
        """Whether the solver placed it itself on this stream, so that a report settles the matter."""
        return self.told is not None and not self.told.machine

    def desired_state(self) -> SentState | None:
        """How it should stand in the books of a solver that knows all machines; None: not at all."""
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

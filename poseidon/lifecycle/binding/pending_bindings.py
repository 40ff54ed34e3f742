"""Placed pods that are not bound yet: what each of them waits for, and its binding when that has come about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.lifecycle.actions import Action, Bind
from poseidon.lifecycle.bind_check import Absent
from poseidon.lifecycle.binding.dependencies import Dependencies
from poseidon.lifecycle.binding.outcomes import BindingOutcomes
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Event, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from poseidon.lifecycle.binding.nominations import Nominations
    from poseidon.lifecycle.pending_reasons import PendingReasons
    from poseidon.lifecycle.pods import Tasks
    from poseidon.lifecycle.records import PodRecord
    from poseidon.volumes.state import VolumeState

_NAMED = 3
"""How many of the pods that one waits for are named."""


class PendingBindings:
    """Binds placed pods once nothing holds them back any more.

    A pod whose place others have to leave is bound once they are gone; its status names the node until then. One that
    leans on others is bound once they are. Claims of a pod are bound before it is, by ``volumes``; its status names the
    node meanwhile, as with kube-scheduler (KEP-5278), so that nobody takes the node away for lack of use, and the room
    stays the pod's if it has to be bound anew. ``clock`` is monotonic. ``act`` has something done.
    """

    def __init__(
        self,
        tasks: Tasks,
        volumes: VolumeState,
        pending_reasons: PendingReasons,
        act: Callable[[Action], None],
        clock: Callable[[], float],
        nominations: Nominations,
    ) -> None:
        self._tasks = tasks
        self._volumes = volumes
        self._pending_reasons = pending_reasons
        self._act = act
        self._clock = clock
        self.dependencies = Dependencies()
        self.outcomes = BindingOutcomes(tasks, self.dependencies, act, nominations)

    def absent(self, record: PodRecord) -> Absent:
        """Return who is counted on a pod's node and takes nothing there, beside itself, whose binding is to be posted.

        Who leaves the node takes its room until it is gone; who waits for that takes it only then. Less important
        pods that wait have to give way to this one.
        """
        now, later = [], []
        for other in self._tasks.on_node(record.binding):
            number, waits = other.task.task_class, other.phase is Phase.WAITING
            if waits:
                now.append(number)
            if other.going or (waits and other.task.priority < record.task.priority):
                later.append(number)
        return Absent(tuple(now), tuple(later))

    def begin(self, record: PodRecord, leaders: Sequence[str], staying: Iterable[str]) -> None:
        """Bind a pod that has just been placed, once ``leaders`` are settled.

        None of them may be among ``staying``, the pods that should have left their nodes and will not.
        """
        if not leaders:
            if record.nominated != record.binding:
                self.outcomes.nominate(record, "")
            self._bind(record)
            return
        stays = next((leader for leader in leaders if leader in staying), None)
        if stays is not None:
            self.outcomes.fail(record, f"pod {stays} is not where it should make way", retry=True)
            return
        self._bind_after(record, [leader for leader in leaders if self._is_unsettled(leader)])

    def take_back(self, record: PodRecord) -> None:
        """A pod that waits for others gets another place, or need not wait for its own any more."""
        self.dependencies.drop(record.task.uid)
        self.outcomes.nominate(record, "")
        self._tasks.move(record, Event.GIVEN_UP)

    def overtaken(self, record: PodRecord, placed_on: str) -> None:
        """A pod that was still to be bound to ``placed_on`` is on a node already: somebody else has bound it."""
        self.dependencies.drop(record.task.uid)
        if record.node in ("", placed_on):
            self.outcomes.confirm(record)
        elif record.awaits_report:
            # The event that says where it runs follows the report and overrides it.
            self.outcomes.report(
                record.task.uid, placed_on, f"already assigned to node {record.node}", retry=False
            )

    def ended(self, uid: str) -> None:
        """A pod is gone: it waits for nobody, and holds back nobody."""
        self.dependencies.drop(uid)
        self.settled(uid)

    def settled(self, uid: str) -> None:
        """A pod is bound, or gone: it holds back nobody."""
        for follower in self.dependencies.met(uid):
            record = self._tasks.get(follower)
            if record is not None and record.phase is Phase.WAITING:
                self._tasks.move(record, Event.RELEASED)
                self._bind(record)

    def claims_bound(self, record: PodRecord) -> None:
        """The claims of a pod whose binding is under way have been bound."""
        self._post(record)

    def _post(self, record: PodRecord) -> None:
        self._tasks.move(record, Event.POSTED)
        self._act(Bind(record.ref, record.binding))

    def node_gone(self, node: str) -> None:
        """A node is gone: nothing is to be waited for on it."""
        for record in self._tasks.on_node(node):
            if record.phase is Phase.WAITING:
                self.outcomes.fail(record, f"node {node} is gone", retry=True)

    def _is_unsettled(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        if record is None:
            return False
        return record.going or record.phase in UNPLACED | UNDER_WAY

    def _bind_after(self, record: PodRecord, leaders: Sequence[str]) -> None:
        """Bind a pod once ``leaders`` are bound, or gone if they have to make way.

        One of them whose binding has failed already will not be bound.
        """
        known = [each for uid in leaders if (each := self._tasks.get(uid)) is not None]
        going = [each for each in known if each.going]
        lost = [each for each in known if not each.in_flight and not each.going]
        self.outcomes.nominate(record, record.binding if going and not lost else "")
        if lost:
            self.outcomes.fail(record, f"depends on {lost[0].task.name}, which was not bound", retry=True)
        elif leaders:
            self.dependencies.hold(record.task.uid, leaders)
            self._tasks.move(record, Event.WAITS)
            if going:
                self._tell_patience(record, going)
        else:
            self._bind(record)

    def _tell_patience(self, record: PodRecord, going: Sequence[PodRecord]) -> None:
        """Say what a pod that has its node waits for."""
        message = f"waits on node {record.binding} until {_enumerated(record, going)} left it"
        said = self._pending_reasons.waiting_for(record, message)
        if said is not None:
            self._act(said)

    def _bind(self, record: PodRecord) -> None:
        """Bind a pod, once its claims are bound. What else its binding waits for is settled."""
        uid = record.task.uid
        problem = self._volumes.begin(uid, record.binding, self._clock())
        if problem:
            self.outcomes.fail(record, problem, retry=True, nominated=True)
        elif self._volumes.is_under_way(uid):
            self._tasks.move(record, Event.CLAIMS_BEGUN)
            self.outcomes.nominate(record, record.binding)
        else:
            self._post(record)


def _enumerated(reader: PodRecord, others: Sequence[PodRecord]) -> str:
    """Return some of ``others`` by name for those who may look at ``reader``: pods of other namespaces are counted."""
    namespace = reader.ref.namespace
    names = sorted(each.task.name for each in others if each.ref.namespace == namespace)[:_NAMED]
    more = len(others) - len(names)
    if not names:
        return "another pod" if more == 1 else f"{more} other pods"
    return ", ".join(names) + (f" and {more} more" if more else "")

"""Holds one cluster's state on the server: its driver, its scheduler, and the scheduler of an unfinished snapshot.

Every method may be called from any thread. One lock guards the scheduler; a solve runs without the lock.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from firmament.core.round_flow.assembly import first_tasks, snapshot_flow
from firmament.saved_rounds.saving import RoundRecord
from firmament.server.access.fencing import GRACE_SECONDS, Fencing
from firmament.server.driver import (
    Driver,
    NoStateError,
    OrderError,
    StaleDriverError,
    StateLostError,
    SupersededError,
)
from firmament.server.rounds.failing_classes import FailingRounds
from firmament.server.rounds.round_history import RoundHistory
from firmament.server.steps import RoundBeginning, StreamSteps

if TYPE_CHECKING:
    from firmament.core.events import BindingReport, Event
    from firmament.core.results import Counts, Explanation, MachineState, RoundResult, TaskState
    from firmament.core.round_flow.assembly import RoundFlow, RoundSummary
    from firmament.core.rounds import OpenRound
    from firmament.core.scheduler import Scheduler


T = TypeVar("T")


Recorder = Callable[[RoundRecord], None]
"""Records finished rounds for later inspection; the call must return quickly."""


class ServedCluster:
    """The state of one cluster.

    The state stays while the cluster has no driver, until the next driver's snapshot replaces it. ``driver``: the
    session that drives the cluster, None for none. ``fencing``: decides which drivers may take over, by default by
    the system's clocks.
    """

    def __init__(
        self,
        name: str,
        new_scheduler: Callable[[], Scheduler],
        recorder: Recorder | None = None,
        fencing: Fencing | None = None,
    ) -> None:
        self.name = name
        self._new_scheduler = new_scheduler
        self._recorder = recorder
        self._lock = threading.RLock()
        self._round_lock = threading.Lock()
        self._failing = FailingRounds(name, self._lock)
        self.driver: Driver | None = None
        self._fencing = fencing or Fencing(time.time, time.monotonic)
        self._scheduler: Scheduler | None = None
        self._aside: Scheduler | None = None
        self._in_sync = False
        self._lost = False
        self._earlier_rounds = 0
        self._was_direct = False
        self._history = RoundHistory(time.time, time.monotonic)
        self._steps = StreamSteps(time.time)

    # --- the driver's calls -------------------------------------------------------------------------------

    def attach(self, driver: Driver, fencing: int, *, recorded: bool = False) -> Driver | None:
        """Make ``driver`` the cluster's driver, and return the driver that it replaces, or None.

        ``recorded``: whether results of rounds state after which messages of the stream they were decided.

        Raise ``StaleDriverError`` if a driver with a higher fencing number is attached, or was until just now; see
        ``Fencing.may_take_over``. From here on, calls of the replaced driver raise ``SupersededError``, and no round
        runs until the new driver's snapshot is complete.
        """
        with self._lock:
            if not self._fencing.may_take_over(fencing):
                raise StaleDriverError(self._explain_refused_driver(fencing))
            former, self.driver = self.driver, driver
            self._fencing.attach(fencing)
            self._steps.restart(recorded=recorded)
            self._aside = None
            self._in_sync = False
            self._rest()
            return former

    def detach(self, driver: Driver) -> None:
        """Remove a driver that has left; the state stays, and questions about it are still answered."""
        with self._lock:
            if self.driver is driver:
                self.driver = None
                self._fencing.detach()
                self._aside = None
                self._rest()

    def end_grace_period(self) -> None:
        """Let any driver take over at once, because the last driver will not come back."""
        with self._lock:
            if self.driver is None:
                self._fencing.end_grace_period()

    def begin_snapshot(self, driver: Driver) -> None:
        """Begin a new state in addition to the present one; an unfinished new state is dropped."""
        with self._lock:
            self._check(driver)
            self._aside = self._new_scheduler()
            self._steps.count_step()

    def end_snapshot(self, driver: Driver) -> None:
        """Replace the state by the new one; enlarge the new state's tables for a burst of events that may follow.

        If a round is being solved on the former state, its result will be dropped.
        """
        with self._lock:
            self._check(driver)
            if self._aside is None:
                raise OrderError("SnapshotEnd came without SnapshotBegin; begin a snapshot first")
            self._aside.make_room()
            if self._scheduler is not None:
                self._earlier_rounds += self._scheduler.counts().rounds
            self._scheduler, self._aside = self._aside, None
            self._in_sync, self._lost = True, False
            self._steps.count_step()

    def apply(self, driver: Driver, events: Sequence[Event]) -> None:
        """Apply all events of a batch, or raise ``InvalidEventError`` and change nothing."""
        with self._lock:
            self._target(driver).apply(events)
            self._steps.count_step()

    def report(self, driver: Driver, reports: Sequence[BindingReport]) -> None:
        """Apply the driver's reports on bindings of placements."""
        with self._lock:
            self._target(driver).report(reports)
            self._steps.count_step()

    def next_round_in(self, driver: Driver) -> float | None:
        """Return the seconds until a round could place something; None if only an event can help.

        If no round makes sense now, tables are enlarged ahead of need. Raise ``StateLostError`` if the state is lost.
        """
        with self._lock:
            self._check(driver)
            if self._lost:
                raise StateLostError(f"cluster {self.name!r}: the state is lost; send a new snapshot")
            if self._scheduler is None or not self._in_sync:
                return None
            seconds = self._scheduler.next_round_in()
            if seconds is None or seconds > 0:
                self._scheduler.make_room()
            return seconds

    def count_unreported(self, driver: Driver) -> int:
        """Return how many placements have been sent to the driver without a report on their bindings."""
        with self._lock:
            self._check(driver)
            return self._scheduler.count_assumed() if self._scheduler is not None else 0

    async def do(self, work: Callable[[], T], *, small: bool) -> T:
        """Call a function that takes the lock, in a thread.

        If the work is ``small`` and the lock is free, it is called directly, as a thread costs more time than most
        work. While many tasks wait, no work counts as small.
        """
        if small and self._lock.acquire(blocking=False):
            try:
                if self._scheduler is None or self._scheduler.waits_for_few:
                    return work()
            finally:
                self._lock.release()
        return await asyncio.to_thread(work)

    # --- calls that need no driver session ----------------------------------------------------------------

    def run_round(self) -> RoundResult | None:
        """Run one round and return its result; during its solve, other calls go on, and other rounds wait.

        Return None if a new snapshot has replaced the state meanwhile. Raise ``NoStateError`` if there is no state.
        Any other error before the round takes effect leaves the state as it was; a later error loses the state.
        """
        with self._round_lock:
            with self._lock:
                if self.driver is not None and not self._in_sync:
                    raise NoStateError(f"the snapshot of cluster {self.name!r} is not complete yet")
                scheduler = self._get_scheduler()
                begun = self._steps.begin_round()
                opened = scheduler.open_round(whole=self._must_be_whole())
                self._was_direct = opened.direct is not None
                if opened.direct is not None:
                    return self._close_directly(scheduler, opened, begun)
            placement = opened.solve()
            self._failing.note_success()
            with self._lock:
                if self._scheduler is not scheduler:
                    return None  # During the solve, a new snapshot became the state.
                try:
                    result = scheduler.close_round(opened, placement)
                except Exception:
                    self._lose()
                    raise
                result = replace(result, round=result.round + self._earlier_rounds)
                result = self._steps.end_round(result, begun, direct=False)
                if opened.snapshot is None:
                    return result
                record = RoundRecord(self.name, opened.snapshot, placement, result)
                self._history.add(record)
            if self._recorder is not None:
                self._recorder(record)
            return result

    def run_direct_round(self) -> RoundResult | None:
        """Run a round of a few tasks that need no solve, and return its result; this takes a millisecond or two.

        Return None, with nothing decided, if the last round needed a solve, if the new round needs one, or if a lock
        is held.
        """
        if not self._was_direct or not self._round_lock.acquire(blocking=False):
            return None
        try:
            if not self._lock.acquire(blocking=False):
                return None
            try:
                scheduler = self._scheduler
                in_sync = self.driver is None or self._in_sync
                if scheduler is None or not in_sync or not scheduler.waits_for_few or self._must_be_whole():
                    return None
                begun = self._steps.begin_round()
                opened = self._open_directly(scheduler)
                return None if opened is None else self._close_directly(scheduler, opened, begun)
            finally:
                self._lock.release()
        finally:
            self._round_lock.release()

    def set_aside_culprits(self, error: Exception) -> int:
        """Set aside the classes that make rounds fail; return how many there are. `FailingRounds` says how."""
        with self._round_lock:
            scheduler = self._scheduler
            return 0 if scheduler is None else self._failing.note_failure(scheduler, error)

    def lose_state(self) -> None:
        """Drop the state, because a round has taken effect and its result cannot be sent to the driver."""
        with self._lock:
            self._lose()

    @contextmanager
    def hold_still(self) -> Iterator[Scheduler]:
        """Return a context, for milliseconds, in which nothing changes.

        Entering it raises ``NoStateError`` if there is no state.
        """
        with self._round_lock, self._lock:
            yield self._get_scheduler()

    def explain(self, uid: str) -> Explanation:
        """Return the verdicts of all machines on one task; raise ``NoStateError`` or ``UnknownTaskError``."""
        with self._lock:
            return self._get_scheduler().explain(uid)

    def listing(self, *, with_tasks: bool) -> tuple[Counts, list[TaskState], list[MachineState]]:
        """Return the numbers of objects and, if ``with_tasks``, the tasks and machines; raise ``NoStateError``."""
        with self._lock:
            scheduler = self._get_scheduler()
            counts = scheduler.counts()
            counts = replace(counts, rounds=counts.rounds + self._earlier_rounds)
            if not with_tasks:
                return counts, [], []
            return counts, list(scheduler.task_states()), list(scheduler.machine_states())

    def network(self) -> tuple[str, int]:
        """Return the last network as DIMACS text, and its round's number; ``("", 0)`` before the first network."""
        with self._lock:
            scheduler = self._get_scheduler()
            text = scheduler.last_network_dimacs()
            return text, scheduler.counts().rounds + self._earlier_rounds if text else 0

    def rounds(self, after: int) -> list[RoundSummary]:
        """Return figures of the rounds after number ``after``; raise ``NoStateError`` if there is no complete state."""
        with self._lock:
            self._get_scheduler()
            return self._history.list_after(after)

    def describe_flow(self, after: int, *, with_tasks: bool) -> tuple[RoundSummary, RoundFlow] | None:
        """Return the last round and its flow if its number is above ``after``, else None; raise ``NoStateError``."""
        with self._lock:
            scheduler = self._get_scheduler()
            found = self._history.last(after)
            if found is None:
                return None
            summary, record = found
            words = scheduler.class_words(first_tasks(record.snapshot))
        return summary, snapshot_flow(record.snapshot, record.placement, words, with_tasks=with_tasks)

    # --- helpers of callers that hold the lock ------------------------------------------------------------

    def _must_be_whole(self) -> bool:
        """Return whether rounds must keep their snapshots and flows, for a recorder or for questions."""
        return self._recorder is not None or self._history.is_watched()

    def _open_directly(self, scheduler: Scheduler) -> OpenRound | None:
        try:
            opened = scheduler.open_direct_round()
        except Exception:  # noqa: BLE001 - ``run_round`` fails too, and finds out with which class
            opened = None
        self._was_direct = opened is not None
        return opened

    def _close_directly(
        self, scheduler: Scheduler, opened: OpenRound, begun: RoundBeginning | None
    ) -> RoundResult:
        """Close a round that needs no solve, while the lock under which it was opened is still held."""
        self._failing.note_success()
        try:
            result = scheduler.close_round(opened, opened.solve())
        except Exception:
            self._lose()
            raise
        if self._earlier_rounds:
            result = replace(result, round=result.round + self._earlier_rounds)
        self._history.add_figures(result)
        return self._steps.end_round(result, begun, direct=True)

    def _lose(self) -> None:
        """Drop the state, because it may count tasks as placed that the driver was never told to bind."""
        self._scheduler, self._in_sync, self._lost = None, False, True

    def _explain_refused_driver(self, fencing: int) -> str:
        """Return the text that says why a driver with this fencing number is refused, and until when."""
        known = self._fencing.number
        if self.driver is None:
            return (
                f"cluster {self.name!r} was driven with fencing number {known} until just now; {fencing} is older, and "
                f"may take over unless that driver is back within {GRACE_SECONDS:g} s"
            )
        return (
            f"cluster {self.name!r} is driven with fencing number {known}; {fencing} is older or not plausible, and "
            "may take over when that driver is gone"
        )

    def _rest(self) -> None:
        """Free the parts of the state that only rounds need, because the next round will have a new snapshot."""
        self._history.clear()
        if self._scheduler is not None:
            self._scheduler.free_memory()

    def _check(self, driver: Driver) -> None:
        if self.driver is not driver:
            raise SupersededError

    def _target(self, driver: Driver) -> Scheduler:
        """Return the scheduler to which the driver's events apply: an unfinished snapshot's, or the one in use."""
        self._check(driver)
        if self._aside is not None:
            return self._aside
        if self._scheduler is None or not self._in_sync:
            raise OrderError("events came before a snapshot; send SnapshotBegin first")
        return self._scheduler

    def _get_scheduler(self) -> Scheduler:
        if self._scheduler is None:
            raise NoStateError(f"cluster {self.name!r} has no complete snapshot yet")
        return self._scheduler

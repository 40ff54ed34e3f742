"""The entry point of the core: takes events, and runs rounds.

The core does no I/O: it reads the time from a clock that the caller passes, and starts nothing by itself. One
instance serves one cluster and is not thread-safe; callers hold one lock during every call of a method. The part of a
round that takes long, ``OpenRound.solve``, needs no lock:

    opened = scheduler.open_round()        # with the lock
    placement = opened.solve()             # without the lock
    result = scheduler.close_round(opened, placement)   # with the lock
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from firmament.core.commit.current_limits import limits_now
from firmament.core.commit.evictions import evict, withdraw
from firmament.core.commit.gang_reservations import keep_room
from firmament.core.commit.placements import PlacementDeltas, assume_placements, list_decided_rows
from firmament.core.commit.strict_order import withdraw_passing
from firmament.core.configuration import CoreConfiguration
from firmament.core.diagnosis.pending_reasons import pending_reasons
from firmament.core.events import BindingReport, Event, TasksBound
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.few_tasks.placing import PlacedDirectly, place_directly
from firmament.core.filters.static_rows import StaticRows
from firmament.core.flow.network.dimacs import to_dimacs
from firmament.core.intake.binding_reports import BindingOutcomes
from firmament.core.intake.events import apply_events, check_size
from firmament.core.model import TaskClass
from firmament.core.placement.outcome import Stopwatch, Timer, no_timer
from firmament.core.profiles import Profiles
from firmament.core.questions import ClusterQuestions
from firmament.core.queue.profile_turns import BASE, ProfileChoice
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.requeue.requeue import Requeue
from firmament.core.requeue.set_aside import waiting_classes
from firmament.core.results import (
    Counts,
    Delta,
    DeltaKind,
    RoundResult,
    Unscheduled,
)
from firmament.core.rounds import OpenRound, Placement
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.quotas.queue_states import QueueStates
from firmament.core.rules.tree_groups.compilation import MachineTrees
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.selectors.label_columns import HOSTNAME
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot, take_snapshot
from firmament.core.state.cluster import Cluster
from firmament.core.state.records import Notes
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.transitions import assume, date_assumptions
from firmament.core.state.waiting import mark_unschedulable
from firmament.solvers.base import Solver

FEW_WAITING = 64
"""Up to this number of waiting tasks, all can be examined in less than a millisecond."""


class Scheduler(ClusterQuestions):
    """Schedules the tasks of one cluster. The docstring of the module shows how to run a round."""

    def __init__(
        self,
        *,
        configuration: CoreConfiguration,
        solver: Solver,
        clock: Callable[[], float],
        timer: Timer = no_timer,
        kept_rows: KeptRows | None = None,
        first_costs: FirstCosts | None = None,
    ) -> None:
        """``clock``: returns seconds since the epoch. ``timer``: returns monotonic seconds, for figures of rounds.

        ``kept_rows``, ``first_costs``: caches of rows over machines between rounds; by default with the usual limits.
        """
        self._configuration = configuration
        self._passes = configuration.options.passes
        self._solver = solver
        self._clock = clock
        self._timer = timer
        self._cluster = Cluster(
            configuration.all_needs,
            constraining_models=configuration.constraining_models,
            record_bytes=configuration.limits.record_bytes,
        )
        self._cluster.machines.labels.expect(
            {rule.topology_key for rule in configuration.spread} - {HOSTNAME}
        )
        self._static_rows = StaticRows(
            self._cluster.machines, self._cluster.classes.shapes, configuration.rules
        )
        self._requeue = Requeue(
            self._cluster,
            self._static_rows,
            configuration.options,
            clock,
            ProfileChoice(self._cluster, configuration.profiles),
        )
        self._outcomes = BindingOutcomes(
            self._cluster, self._requeue.evictions, self._requeue.rebinding, configuration.options, clock
        )
        self._profiles = Profiles(
            RoundContext(
                self._cluster,
                self._static_rows,
                configuration,
                self._requeue.reservations,
                self._requeue.evictions,
                MachineTrees(),
                None,
            ),
            KeptRows() if kept_rows is None else kept_rows,
            FirstCosts() if first_costs is None else first_costs,
        )
        self._profile = self._profiles[BASE]  # The profile of the open or last round.
        self._queue_states = QueueStates(self._cluster)
        self._notes = Notes()
        self._rounds = 0
        self._in_round = False
        self._last: Placement | None = None

    # --- events and reports --------------------------------------------------------------------------------------

    def apply(self, events: Sequence[Event]) -> None:
        """Apply events in order, all or none; raise ``InvalidEventError`` before anything has changed.

        The error is a ``TooLargeClusterError`` if the cluster would exceed its size limits.
        """
        check_size(self._cluster, events, self._configuration.limits)
        apply_events(self._cluster, events, self._clock())
        if self._cluster.devices.stayed:
            for event in [each for each in events if isinstance(each, TasksBound)]:
                for uid in event.uids:
                    self._cluster.devices.come_back(uid, event.machine)
        if self._requeue.set_aside.why:
            self._requeue.set_aside.note_defined(self._cluster, events)
        if not self._in_round:
            self._drop_surplus()

    def become_trial(self, solver: Solver) -> None:
        """Use ``solver`` from now on, because this scheduler is a copy for trials."""
        self._solver = solver

    def become_forecast(self) -> None:
        """Decide roughly from now on, for a copy that looks far ahead: move no tasks to make room for others."""
        self._passes = replace(self._passes, relocates=False)

    def let_devices_move(self) -> None:
        """Release the devices of tasks' own claims when the tasks are removed, as trials of moves need it.

        A task gets its former devices back once it is bound again on the same machine.
        """
        devices = self._cluster.devices
        devices.stayed = {} if devices.stayed is None else devices.stayed

    def report(self, reports: Sequence[BindingReport]) -> None:
        """Apply the outcomes of decisions; see ``BindingOutcomes.apply``."""
        self._outcomes.apply(reports)

    def make_room(self) -> None:
        """Enlarge tables before they are full; callers do this when no round could place anything."""
        self._cluster.tasks.make_room()

    def free_memory(self) -> None:
        """Free memory that only makes rounds faster; for a cluster that will have no rounds for a while."""
        self._profiles.free_memory()

    @property
    def waits_for_few(self) -> bool:
        """Whether so few tasks wait that examining all of them takes almost no time."""
        return len(self._cluster.tasks.in_state(TaskPhase.PENDING)) <= FEW_WAITING

    # --- opening and closing rounds ------------------------------------------------------------------------------

    def next_round_in(self) -> float | None:
        """Return the seconds until a round could place something: 0 for now, None if only an event can help."""
        held = self._requeue.refresh()
        if not self._in_round:  # Changes during an open round were not compared with marked machines yet.
            self._cluster.dirty.clear()
        return self._requeue.next_round_in(held)

    def open_round(self, only: frozenset[TaskClass] | None = None, *, whole: bool = True) -> OpenRound:
        """Take a snapshot of the cluster for the tasks that could be placed now.

        ``only``: the classes whose tasks take part; tasks of other classes are left out. Callers use ``only`` to find
        the class with which rounds fail. A round that serves this search is solved but not closed, and
        ``try_all_again`` is called after the last of these rounds. If ``whole`` is False, a few plain tasks may be
        placed without a snapshot, and so without a flow to show. A round without a snapshot must be closed before
        anything else happens; otherwise it places nothing.
        """
        watch = Stopwatch(self._timer)
        now = self._clock()
        self._drop_surplus()
        admitted = self._admit(only, now)
        self._in_round = True
        direct = None if whole else self._place_directly(admitted, now)
        snapshot = None
        if direct is None and len(admitted.waiting):
            prices = self._profile.prices
            recall_prices = prices.recall if prices.rounds else None
            snapshot = take_snapshot(self._profile.context, admitted, now, recall_prices)
        return self._make_open_round(watch, snapshot, direct)

    def open_direct_round(self) -> OpenRound | None:
        """Open a round that needs no snapshot and no solve, as ``open_round`` may if not ``whole``.

        Return None if waiting tasks need a snapshot: nothing is decided, and the caller calls ``open_round`` next.
        """
        if self._cluster.restarts.by_uid or self._cluster.promises.others.by_uid:
            return None
        watch = Stopwatch(self._timer)
        now = self._clock()
        self._drop_surplus()
        if (direct := self._place_directly(self._admit(None, now), now)) is None:
            return None
        self._in_round = True
        return self._make_open_round(watch, None, direct)

    def _admit(self, only: frozenset[TaskClass] | None, now: float) -> AdmittedTasks:
        admitted = self._requeue.open_round(only, now)
        if self._requeue.profiles.several:
            self._profile = self._profiles[self._requeue.profiles.current]
        return admitted

    def _place_directly(self, admitted: AdmittedTasks, now: float) -> PlacedDirectly | None:
        costs = self._profile.first_costs
        if len(self._cluster.machines) < costs.least_machines:
            return None
        return place_directly(self._profile.context, admitted, costs, now)

    def _make_open_round(
        self, watch: Stopwatch, snapshot: Snapshot | None, direct: PlacedDirectly | None
    ) -> OpenRound:
        self._rounds += 1
        spent = watch.seconds()
        return OpenRound(self._rounds, snapshot, self._solver, self._passes, spent, self._timer, direct)

    def close_round(self, opened: OpenRound, placement: Placement) -> RoundResult:
        """Apply those decisions that are still valid, and say which tasks stay pending and why."""
        watch = Stopwatch(self._timer)
        self._in_round = False
        first, unscheduled = self._requeue.close_round()
        if placement.last is not None:
            self._last = placement
        notes = self._notes.new(self._cluster.records.notes()) if self._cluster.records.faults else ()
        stats, placed, last, pending = placement.stats, PlacementDeltas((), ()), list[Delta](), 0
        if opened.snapshot is not None:
            if placement.dual_prices is not None:
                self._profile.prices.learn(opened.snapshot, placement.dual_prices)
            placed, last, refused, pending = self._put_into_effect(opened.snapshot, placement)
            unscheduled += refused
            if remarks := opened.snapshot.assessed.notes():
                notes += self._notes.new(remarks)
        elif opened.direct is not None:
            placed, pending = self._carry_out(opened.direct)
        if opened.snapshot is not None or opened.direct is not None:
            stats = replace(
                stats,
                placed=len(placed) + sum(delta.kind is DeltaKind.PLACE for delta in last),
                pending=pending,
                admit_seconds=stats.admit_seconds + watch.seconds(),
            )
        gangs = self._requeue.reservations.gangs
        if gangs.sought:
            keep_room(self._cluster, gangs, opened.snapshot, placement.kept, self._clock())
        if self._requeue.evictions.under_way:
            last += withdraw(self._cluster, self._requeue.evictions)
        self._requeue.round_closed()
        return RoundResult(
            round=opened.number,
            deltas=(*first, *placed, *last) if first or last else placed,
            unscheduled=tuple(unscheduled),
            stats=stats,
            gangs=self._requeue.gangs.take_changed_states(self._cluster, self._clock())
            if self._cluster.jobs.had_gangs
            else (),
            notes=notes,
            put_off=self._requeue.put_off,
            searches=placement.searches,
            queues=self._queue_states.list_changed()
            if QUOTA_RECORD in self._cluster.records.payloads and self._configuration.options.tells_why
            else (),
        )

    def _put_into_effect(
        self, snapshot: Snapshot, placement: Placement
    ) -> tuple[PlacementDeltas, list[Delta], list[Unscheduled], int]:
        """Apply placements and evictions that are still valid.

        The other waiting tasks become unschedulable or are tried again.

        Return the placements, their deltas, the messages to waiting tasks, and the number of these tasks.
        """
        cluster, rows = self._cluster, self._static_rows
        assignments, evictions = placement.assignments, placement.evictions
        if QUOTA_RECORD in cluster.records.payloads:
            now = self._clock()
            assignments, evictions, passed = withdraw_passing(cluster, snapshot, assignments, evictions, now)
            self._requeue.strict_heads.passed = passed
        context, limits = self._profile.context, None
        if cluster.version != snapshot.version:
            limits = limits_now(context, snapshot, assignments)
        may_move = self._requeue.evictions.under_way
        if may_move:
            self._requeue.moves.begin(cluster)
        placed = assume_placements(context, snapshot, assignments, limits)
        deltas = self._requeue.moves.finish(cluster, snapshot) if may_move else []
        evicting, lost = list[Delta](), np.empty(0, dtype=np.int64)
        if evictions:
            evicting, lost = evict(context, snapshot, assignments, evictions, self._clock())
        date_assumptions(cluster, self._clock())
        pending, unscheduled = np.empty(0, dtype=np.int64), list[Unscheduled]()
        if len(placed) < len(snapshot.tasks):
            pending, unscheduled = pending_reasons(context, snapshot, assignments, placement.shortages)
        if snapshot.gangs:
            self._requeue.gangs.note_tried(cluster, snapshot.gangs, snapshot.problem.gang, snapshot.members)
        self._requeue.activate(frozenset(snapshot.cls[np.unique(assignments.cls)].tolist()))
        idle = np.setdiff1d(pending, lost)
        if len(idle):  # A list of the decided rows could have a hundred thousand entries.
            mark_unschedulable(cluster, np.setdiff1d(idle, list_decided_rows(snapshot.members, assignments)))
        reservations = self._requeue.reservations
        held = reservations.held or reservations.gangs.held
        if (placed or deltas or evicting) and (held or cluster.tasks.any_unschedulable):
            reservations.count_round(cluster, self._clock())
        left = np.unique(cluster.tasks.cls[cluster.tasks.in_state(TaskPhase.PENDING)]).tolist()
        rows.keep_only({cluster.classes.rows[cls].shape for cls in left})  # No waiting task uses other rows.
        return placed, deltas + evicting, unscheduled, len(pending)

    def _carry_out(self, direct: PlacedDirectly) -> tuple[PlacementDeltas, int]:
        """Apply placements that were found without a snapshot; return them, and the number of tasks that got none."""
        cluster, tasks = self._cluster, self._cluster.tasks
        if cluster.version != direct.version:
            return PlacementDeltas((), ()), len(direct.tasks)
        assume(cluster, direct.tasks, direct.machines)
        date_assumptions(cluster, self._clock())
        self._requeue.activate(frozenset(tasks.cls[direct.tasks].tolist()))
        if tasks.any_unschedulable:
            self._requeue.reservations.count_round(cluster, self._clock())
        names = cluster.machines.names
        uids = list(map(tasks.uid.__getitem__, direct.tasks.tolist()))
        return PlacementDeltas(uids, [names[row] for row in direct.machines.tolist()]), 0

    def _drop_surplus(self) -> None:
        """Free unused classes and resources; not during a round, because its snapshot refers to rows and columns."""
        if self._cluster.classes.has_surplus:
            moved = self._cluster.forget_classes(self._requeue.evictions.classes())
            self._static_rows.renumber(moved.shapes)
            self._profiles.renumber_shapes(moved.shapes)
            self._requeue.reservations.renumber(moved.classes)
            self._requeue.evictions.renumber(moved.classes)
            self._requeue.budgets.forget_classes()
        if self._cluster.resources.has_surplus:
            self._cluster.forget_resources()

    def run_round(self) -> RoundResult:
        """Open, solve and close a round."""
        opened = self.open_round()
        return self.close_round(opened, opened.solve())

    # --- rounds that fail ----------------------------------------------------------------------------------------

    def waiting_classes(self) -> list[TaskClass]:
        """Return the classes of the tasks that the next round of the last round's profile would try."""
        return self._requeue.profiles.list_classes_of_last_profile(waiting_classes(self._cluster))

    def set_aside(self, contents: Sequence[TaskClass], why: str) -> None:
        """Exclude tasks of these classes from rounds until their class is defined again, and show them ``why``."""
        self._requeue.set_aside.add(self._cluster, contents, why)

    def try_all_again(self) -> None:
        """Let all unschedulable tasks take part in the next round, also those that trial rounds have marked."""
        self._cluster.dirty.everywhere = True

    # --- figures of the cluster ----------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Return how many machines and tasks there are, and rounds so far."""
        tasks = self._cluster.tasks
        return Counts(
            machines=len(self._cluster.machines),
            pending=len(tasks.in_state(TaskPhase.PENDING)),
            assumed=len(tasks.in_state(TaskPhase.ASSUMED)),
            bound=len(tasks.in_state(TaskPhase.BOUND)),
            rounds=self._rounds,
        )

    def last_network_dimacs(self) -> str:
        """Return the network of the last solve as DIMACS text; empty if nothing has been solved yet."""
        if self._last is None or self._last.last is None:
            return ""
        return to_dimacs(self._last.last.network)

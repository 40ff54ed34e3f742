"""The core's face: events in, rounds out.

Sans-I/O: it is told the time by a clock that is handed in, and drives nothing by itself. One instance serves one
cluster and is not thread safe; callers hold one lock around every method. The part of a round that takes time,
``OpenRound.solve``, needs no lock:

    opened = scheduler.open_round()        # under the lock
    placement = opened.solve()             # without it
    result = scheduler.close_round(opened, placement)   # under it again
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.applying import apply_events
from firmament.core.closing import assume_placements
from firmament.core.cluster import Cluster
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import BindingReport, Event
from firmament.core.evicting import evict
from firmament.core.evictions import Evictions
from firmament.core.explaining import explain
from firmament.core.feasibility import StaticRows
from firmament.core.gangs import Gangs
from firmament.core.listing import machine_states, task_states
from firmament.core.notes import Notes
from firmament.core.opening import Picture, take_picture
from firmament.core.parking import park, wake
from firmament.core.refusals import pending_reasons
from firmament.core.reservations import Reservations
from firmament.core.results import Delta, DeltaKind, Explanation, MachineState, RoundResult, TaskState
from firmament.core.rounds import OpenRound, Placement
from firmament.core.tasks import State
from firmament.core.topology_compiler import Trees
from firmament.flow.dimacs import to_dimacs
from firmament.rounds.stopwatch import Stopwatch, Timer, no_timer
from firmament.solvers.base import Solver


class UnknownTaskError(KeyError):
    """No task with that uid is known."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each there are; ``pending`` includes tasks that wait for an event or a back-off."""

    machines: int
    pending: int
    assumed: int
    bound: int
    rounds: int


class Scheduler:
    """Schedules the tasks of one cluster. See the module for how a round is run."""

    def __init__(
        self,
        *,
        configuration: CoreConfiguration,
        solver: Solver,
        clock: Callable[[], float],
        timer: Timer = no_timer,
    ) -> None:
        """``clock`` returns seconds since the epoch; ``timer`` monotonic seconds, for the figures of rounds only."""
        self._configuration = configuration
        self._solver = solver
        self._clock = clock
        self._timer = timer
        self._cluster = Cluster(
            configuration.record_kinds,
            machine_kinds=configuration.arrival_kinds,
            uses_load=configuration.uses_load,
            uses_task_use=configuration.uses_unseen,
            model_labels=configuration.label_keys,
            model_namespaces=configuration.uses_namespaces,
            pair_labels=frozenset(key for _, model in configuration.pair_models for key in model.pair_keys),
        )
        self._static_rows = StaticRows(self._cluster.machines, self._cluster.classes.shapes)
        self._reservations = Reservations(configuration.options)
        self._evictions = Evictions()
        self._gangs = Gangs(configuration.options, self._evictions)
        self._trees = Trees()
        self._given_up: list[Delta] = []
        self._notes = Notes()
        self._rounds = 0
        self._in_round = False
        self._last: Placement | None = None

    # --- what happens --------------------------------------------------------------------------------------------

    def apply(self, events: Sequence[Event]) -> None:
        """Apply events in order, all or none; raises ``InvalidEventError`` before anything has changed."""
        apply_events(self._cluster, events, self._clock())
        if not self._in_round:
            self._forget_classes()

    def report(self, reports: Sequence[BindingReport]) -> None:
        """Take note of bindings: accepted ones are bound, refused ones wait again (with back-off if to be retried).

        A refused task that is not to be retried stays parked until an event about it arrives. Reports about unknown
        tasks, about tasks that are known to be bound, and about a machine that the task is no longer meant for, are
        ignored: a refusal may well arrive after the task has been seen running.
        """
        cluster, tasks = self._cluster, self._cluster.tasks
        size = len(tasks.uid)
        most_important = tasks.priority[:size][tasks.parked[:size]].max(initial=-(2**62))
        for report in reports:
            task = tasks.row_of.get(report.uid)
            if task is None or cluster.where(task) != report.machine:
                continue
            if not report.bound and int(tasks.state[task]) == State.BOUND and tasks.leaving[task]:
                self._let_off(task)
            if int(tasks.state[task]) != State.ASSUMED:
                continue
            cluster.jobs.touch(tasks.job[task])
            if report.bound:
                cluster.arrive(task, self._clock())
                tasks.state[task] = State.BOUND
                tasks.failures[task] = 0
                if tasks.priority[task] < most_important:
                    cluster.mark(report.machine)  # from now on it may be evicted
                continue
            self._back_off(task)
            waits = self._evictions.holds_up(cluster, task)
            if report.retry and not waits and self._gangs.keeps_place(cluster, task):
                continue
            cluster.vacate(task)
            tasks.state[task] = State.PENDING
            tasks.parked[task] = tasks.refused[task] = not report.retry
            cluster.version += 1

    def _back_off(self, task: int) -> None:
        """Count one more failure of a task; it waits twice as long as after the last."""
        tasks, options = self._cluster.tasks, self._configuration.options
        tasks.failures[task] += 1
        wait = options.first_backoff * 2.0 ** min(int(tasks.failures[task]) - 1, 30)
        tasks.not_before[task] = self._clock() + min(wait, options.last_backoff)

    def _let_off(self, victim: int) -> None:
        """Take note that a task (row) was not evicted: whoever counted on it waits again, with back-off."""
        cluster, tasks = self._cluster, self._cluster.tasks
        for task in self._evictions.let_off(cluster, victim):
            self._back_off(task)
            cluster.vacate(task)
            tasks.state[task] = State.PENDING
        cluster.version += 1

    # --- rounds --------------------------------------------------------------------------------------------------

    def next_round_in(self) -> float | None:
        """Seconds until a round could achieve something: 0 for now, None for not before another event."""
        held = self._wake()
        if not self._in_round:  # what a round leaves behind is yet to be held against the marked machines
            self._cluster.clear_marks()
        tasks, now = self._cluster.tasks, self._clock()
        pending = tasks.in_state(State.PENDING)
        open_now = pending[~tasks.parked[pending]]
        waits = [self._gangs.next_in(self._cluster, now)]
        if self._evictions.has_needless(self._cluster):
            return 0.0
        if len(open_now):
            waits.append(max(0.0, float(tasks.not_before[open_now].min()) - now))
        elif len(pending):
            waits.append(held)
        return min((wait for wait in waits if wait is not None), default=None)

    def open_round(self) -> OpenRound:
        """Take a picture of the cluster for the tasks that could be placed now."""
        watch = Stopwatch(self._timer)
        now = self._clock()
        self._forget_classes()
        self._given_up += self._gangs.expire(
            self._cluster, now
        )  # if the round fails, the next one tells of them
        self._wake()
        self._cluster.clear_marks()
        tasks = self._cluster.tasks
        tasks.revised[:] = False
        self._evictions.forget_gone(self._cluster)
        self._in_round = True
        waiting = tasks.in_state(State.PENDING)
        waiting = waiting[~tasks.parked[waiting] & (tasks.not_before[waiting] <= now)]
        muster = self._gangs.muster(self._cluster, waiting, now)
        picture = None
        if len(muster.waiting):
            picture = take_picture(
                self._cluster,
                self._static_rows,
                self._reservations,
                self._configuration,
                self._evictions,
                self._trees,
                muster,
                now,
            )
        self._rounds += 1
        return OpenRound(
            self._rounds,
            picture,
            self._solver,
            self._configuration.options.passes,
            watch.seconds(),
            self._timer,
        )

    def close_round(self, opened: OpenRound, placement: Placement) -> RoundResult:
        """Put the decisions into effect as far as they still hold, and say what stays pending and why."""
        watch = Stopwatch(self._timer)
        self._in_round = False
        stats = placement.stats
        if placement.network is not None:
            self._last = placement
        unsolved = [delta for delta in self._given_up if self._leaves(delta)]
        unsolved += self._gangs.due(self._cluster, self._clock())
        self._given_up.clear()
        withheld = self._gangs.withheld(self._cluster)
        if opened.picture is None:
            return RoundResult(
                round=opened.number,
                deltas=(*unsolved, *self._withdrawn()),
                unscheduled=tuple(withheld),
                stats=stats,
                gangs=self._gangs.states(self._cluster, self._clock()),
            )
        deltas = assume_placements(self._cluster, self._static_rows, opened.picture, placement.assignments)
        evicting, lost = evict(
            self._cluster,
            self._static_rows,
            self._evictions,
            opened.picture,
            placement.assignments,
            placement.evictions,
        )
        stats.placed = len(deltas) + sum(delta.kind is DeltaKind.PLACE for delta in evicting)
        deltas += evicting
        self._cluster.date_assumptions(self._clock())
        pending, unscheduled = pending_reasons(
            self._cluster,
            self._static_rows,
            self._reservations,
            opened.picture,
            placement.assignments,
            placement.shortages,
        )
        self._note_gangs(opened.picture)
        placed = frozenset(opened.picture.cls[np.unique(placement.assignments.cls)].tolist())
        if wake(self._cluster, self._static_rows, self._reservations, placed):
            self._gangs.keep_asleep(self._cluster, self._clock())
        self._park(np.setdiff1d(pending, lost), opened, placement)
        self._reservations.count_round(self._cluster, overtaken=bool(deltas))
        self._forget_idle_shapes()
        stats.pending = len(pending)
        stats.admit_seconds += watch.seconds()
        return RoundResult(
            round=opened.number,
            deltas=(*unsolved, *deltas, *self._withdrawn()),
            unscheduled=(*withheld, *unscheduled),
            stats=stats,
            gangs=self._gangs.states(self._cluster, self._clock()),
            notes=self._notes.new(opened.picture.judgement.notes()),
        )

    def run_round(self) -> RoundResult:
        """Open, solve and close a round."""
        opened = self.open_round()
        return self.close_round(opened, opened.solve())

    def _wake(self) -> float | None:
        """Bring reservations up to date and unpark what a marked machine could take.

        Returns the seconds after which machines will be marked that were reported about, None if none will.
        """
        held = self._cluster.mark_sampled(self._clock())
        self._reservations.refresh(self._cluster, self._static_rows)
        if wake(self._cluster, self._static_rows, self._reservations):
            self._gangs.keep_asleep(self._cluster, self._clock())
        return held

    def _withdrawn(self) -> list[Delta]:
        """What tells that tasks need not go after all, as nobody waits for that any more."""
        cluster = self._cluster
        return [
            Delta(DeltaKind.PREEMPT, cluster.tasks.uid[task], cluster.where(task), withdrawn=True)
            for task in self._evictions.take_needless(cluster)
        ]

    def _leaves(self, delta: Delta) -> bool:
        """Whether a task that was told to go when the round began still has to, after what has happened meanwhile."""
        task = self._cluster.tasks.row_of.get(delta.uid)
        return task is not None and bool(self._cluster.tasks.leaving[task])

    def _note_gangs(self, picture: Picture) -> None:
        """Tell the gangs that were tried in vain why."""
        tasks = self._cluster.tasks
        for gang, job in enumerate(picture.gangs):
            if self._cluster.jobs.gang(job) is None:
                continue
            for index in np.flatnonzero(picture.problem.gang == gang).tolist():
                waiting = picture.members[index][tasks.state[picture.members[index]] == State.PENDING]
                if len(waiting):
                    self._gangs.note(job, tasks.message[int(waiting[0])])
                    break

    def _park(self, pending: Int64, opened: OpenRound, placement: Placement) -> None:
        """Park what the round could not place; tasks it had placed, but could not keep, try again at once."""
        decided = int(placement.assignments.count.sum())
        if opened.picture is None or len(pending) == 0:
            return
        lost = np.zeros(0, dtype=np.int64)
        if decided:
            taken = np.zeros(len(opened.picture.members), dtype=np.int64)
            np.add.at(taken, placement.assignments.cls, placement.assignments.count)
            lost = np.concatenate(
                [rows[:count] for rows, count in zip(opened.picture.members, taken.tolist(), strict=True)]
            )
        park(self._cluster, np.setdiff1d(pending, lost))

    def _forget_classes(self) -> None:
        """Drop classes that have served their purpose. Not during a round, whose picture refers to their rows."""
        if self._cluster.classes.has_surplus:
            moved = self._cluster.forget_classes(self._evictions.classes())
            self._static_rows.renumber(moved.shapes)
            self._reservations.renumber(moved.classes)
            self._evictions.renumber(moved.classes)

    def _forget_idle_shapes(self) -> None:
        """Drop rows over machines of shapes that no pending task has, so that memory follows the pending work."""
        tasks = self._cluster.tasks
        classes = np.unique(tasks.cls[tasks.in_state(State.PENDING)]).tolist()
        self._static_rows.keep_only({self._cluster.classes.rows[cls].shape for cls in classes})

    # --- questions -----------------------------------------------------------------------------------------------

    def explain(self, uid: str) -> Explanation:
        """Say for every machine whether the task may use it and what each model charges; ``UnknownTaskError``."""
        if uid not in self._cluster.tasks.row_of:
            raise UnknownTaskError(uid)
        return explain(self._cluster, self._static_rows, self._configuration, uid, self._clock())

    def task_states(self) -> Iterator[TaskState]:
        """All tasks, in order of uid."""
        return task_states(self._cluster, self._clock())

    def machine_states(self) -> Iterator[MachineState]:
        """All machines, in order of name."""
        return machine_states(self._cluster)

    def counts(self) -> Counts:
        """How many machines and tasks there are, and rounds so far."""
        tasks = self._cluster.tasks
        return Counts(
            machines=len(self._cluster.machines),
            pending=len(tasks.in_state(State.PENDING)),
            assumed=len(tasks.in_state(State.ASSUMED)),
            bound=len(tasks.in_state(State.BOUND)),
            rounds=self._rounds,
        )

    def last_network_dimacs(self) -> str:
        """The network of the last solve as DIMACS text; empty if nothing has been solved yet."""
        if self._last is None or self._last.network is None:
            return ""
        return to_dimacs(self._last.network)

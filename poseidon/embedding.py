"""Runs the solver in this process; only this module of poseidon imports firmament, and only when it is used.

All events and results pass through the messages of the protocol, so that offline commands use the same translation as
the bridge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from poseidon.configuration.document import BridgeConfiguration, argument_faults
from protos.configuration.file import check_part, load_part
from protos.configuration.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from firmament.core.configuration import CoreConfiguration
    from firmament.core.cures.proposals import Cure
    from firmament.core.events import Event
    from firmament.core.rescheduling.consolidation import Consolidation
    from firmament.core.rescheduling.hot_machines import Relief
    from firmament.core.rescheduling.plan_moves import CostPoint, MovePlan
    from firmament.core.rescheduling.room_by_moves import GangRoom
    from firmament.core.results import RoundResult
    from firmament.core.rounds import Placement
    from firmament.core.scheduler import Scheduler
    from firmament.core.snapshot.snapshot import Snapshot
    from protos.configuration.sections import Document
    from protos.firmament.v1 import scheduler_pb2 as pb

_TRIAL_CHECKS = 400_000_000
"""The limit on the work of a trial round, in evaluations of machines: about ten seconds of one core."""

_NO_LIMIT = 2**60
"""The limit on the work of a round that stands for "no limit"."""

_NO_CLASSES: Mapping[str, type] = MappingProxyType({})


def load_configuration(path: Path | None) -> BridgeConfiguration:
    """Read and check both parts of a configuration file, None for the defaults; raise ``ConfigurationError``.

    The result includes the solver's part, which ``EmbeddedScheduler`` needs.
    """
    return load_part(path, _document_class(), _faults)


def check_configuration(
    document: Mapping[str, Any], where: str, classes: Mapping[str, type]
) -> BridgeConfiguration:
    """Check a configuration that was read before, as ``load_configuration`` does.

    ``classes``: cost models by name that the configuration may use although no installed package contains them.
    """
    found = check_part(document, where, _document_class(), partial(_faults, classes=classes))
    found.bring_classes(classes)
    return found


def _faults(document: Mapping[str, Any], classes: Mapping[str, type] = _NO_CLASSES) -> Iterator[str]:
    """Yield the faults that models find in their arguments or, if they find none, those that the bridge finds."""
    from firmament.configuration.document import model_faults

    said = list(model_faults(document, classes))
    yield from said or argument_faults(document)


def configuration_schema() -> dict[str, Any]:
    """Return the JSON Schema of a configuration file, made from the classes that check both parts."""
    return schema_of(_document_class())


@cache
def _document_class() -> type[Any]:
    """Return the pydantic class for both parts of the configuration."""
    from firmament.configuration.document import SchedulerConfiguration

    class Whole(BridgeConfiguration, SchedulerConfiguration):
        """Both parts of the configuration."""

    return Whole


def _build_core(configuration: Document) -> CoreConfiguration:
    """Return the solver's part of a configuration, with its cost models built. Raises ``ConfigurationError``."""
    from firmament.configuration.document import SchedulerConfiguration, build_core

    assert isinstance(configuration, SchedulerConfiguration)
    return build_core(configuration)


def _raise_work_limit(core: CoreConfiguration) -> CoreConfiguration:
    """Return the configuration with a much higher limit of work, so that the round of a trial postpones no tasks."""
    return replace(core, options=replace(core.options, namespace_checks=_TRIAL_CHECKS))


def _make_scheduler(core: CoreConfiguration, clock: Callable[[], float]) -> Scheduler:
    """Return a new scheduler that solves with OR-Tools."""
    from firmament.core.scheduler import Scheduler
    from firmament.solvers.ortools_solver import OrToolsSolver

    return Scheduler(
        configuration=core, solver=OrToolsSolver(lazy=True), clock=clock, timer=time.perf_counter
    )


class EmbeddedTrials:
    """A copy of a cluster in which moves of tasks and changes for waiting tasks are tried.

    `firmament.core.rescheduling` makes the trials. ``events`` describe the cluster. ``removed``: the uids of tasks that
    end with their machine. ``placed``: the machine, by uid, of tasks that wait in ``events`` and count as placed there.
    """

    def __init__(
        self,
        configuration: Document,
        clock: Callable[[], float],
        events: Iterable[pb.Event],
        removed: Collection[str],
        placed: Mapping[str, str] | None = None,
    ) -> None:
        from firmament.core.cures.search import CureFinder
        from firmament.core.rescheduling.trials import Trials
        from firmament.wire.events import events_from_proto

        known = [part for each in events_from_proto(events) for part in _keep_placed(each, placed or {})]
        self._scheduler = _make_scheduler(_raise_work_limit(_build_core(configuration)), clock)
        self._trials = Trials(self._scheduler, known, removed)
        self._waiting = CureFinder(self._trials, known)

    def cures(self, uids: Collection[str], tries: int, most: int) -> dict[str, tuple[Cure, ...]]:
        """Return changes that would give machines to waiting tasks, by uid, as ``CureFinder.cures`` does."""
        return self._waiting.cures(uids, tries=tries, most=most)

    def find_room(self, uids: Sequence[str], tries: int) -> GangRoom | None:
        """Return moves that free a machine for one of the waiting tasks, as ``CureFinder.find_room`` does."""
        return self._waiting.find_room(uids, tries)

    def find_cheaper_moves(
        self, prices: Mapping[str, float], move_price: float, most: int | None
    ) -> MovePlan:
        """Return moves that lower costs, as ``find_cheaper_moves`` does."""
        return find_cheaper_moves(self._scheduler, prices, move_price, most)

    def frontier(self, prices: Mapping[str, float], points: int) -> tuple[CostPoint, ...]:
        """Return how much moves could save, for ``points`` numbers of moves; ``prices``: as in ``find_cheaper_moves``.

        If models of some tasks read devices, there is only one point, for all moves that save more than their price.
        The bound of that point is their whole cost.
        """
        from firmament.core.rescheduling.plan_moves import CostPoint, cost_frontier
        from firmament.solvers.ortools_solver import OrToolsSolver

        if self._scheduler.divide_by_devices(prices)[0]:
            plan = find_cheaper_moves(self._scheduler, prices, 0.0, None)
            saved, most = plan.cost_before - plan.cost_after, plan.cost_before - plan.bound
            return (CostPoint(len(plan.moves), saved, most),)
        return cost_frontier(self._scheduler, prices, points, OrToolsSolver(lazy=True))

    def rehearse(self, waves: Iterable[Mapping[str, str]], cordoned: Iterable[str]) -> set[str]:
        """Return the tasks that do not get their target machines, as ``Trials.rehearse`` does.

        Call this method last.
        """
        return self._trials.rehearse(waves, cordoned)

    def consolidate(
        self,
        candidates: Collection[str],
        tries: int,
        budget: int | None,
        note: Callable[[int], None] = lambda _: None,
    ) -> Consolidation:
        """Return which ``candidates`` can be emptied together by at most ``budget`` moves, None for any number.

        Waiting tasks are placed first. ``tries``: the largest number of sets of machines that are tried. ``note``: a
        function that is called with the number of tries so far.
        """
        from firmament.core.rescheduling.consolidation import UNLIMITED, consolidate

        moves = UNLIMITED if budget is None else budget
        return consolidate(
            self._trials,
            sorted(candidates),
            tries=tries,
            budget=moves,
            waiting=self._waiting.submitted,
            note=note,
        )


def find_cheaper_moves(
    scheduler: Scheduler, prices: Mapping[str, float], move_price: float, most: int | None
) -> MovePlan:
    """Return at most ``most`` moves (None: any number) that lower the costs by more than their prices.

    ``prices``: the price in points, by uid, of moving each task that may move. ``move_price``: the points that are
    added to each price. See ``plan_cheaper_moves``.
    """
    from firmament.core.rescheduling.cheaper_moves import plan_cheaper_moves
    from firmament.core.rescheduling.plan_moves import PlanOptions
    from firmament.solvers.ortools_solver import OrToolsSolver

    options = PlanOptions(move_price) if most is None else PlanOptions(move_price, most)
    return plan_cheaper_moves(scheduler, prices, options, OrToolsSolver(lazy=True))


def _keep_placed(event: Event, placed: Mapping[str, str]) -> Iterator[Event]:
    """Yield an event, and events that bind those of its tasks that ``placed`` (uid -> machine) contains."""
    from firmament.core.events import TasksBound, TasksSubmitted

    if not isinstance(event, TasksSubmitted) or placed.keys().isdisjoint(event.uids):
        yield event
        return
    for uid in event.uids:
        if uid in placed:
            yield TasksBound(
                placed[uid], event.task_class, (uid,), priority=event.priority, job=event.job,
                group_priority=event.group_priority, spread_group=event.spread_group,
            )  # fmt: skip
    waiting = tuple(uid for uid in event.uids if uid not in placed)
    yield replace(event, uids=waiting, names=(), created=())


class EmbeddedScheduler:
    """A scheduler of one cluster in this process, which solves with OR-Tools.

    ``clock`` returns seconds since the epoch; the duration of rounds is measured by the machine's clock. Raises
    ``ConfigurationError`` if a cost model refuses its arguments.
    """

    def __init__(
        self, configuration: Document, clock: Callable[[], float], *, simulated: bool = False
    ) -> None:
        """Create a scheduler; ``simulated``: rounds take no time, postpone no tasks and give no reasons to wait."""
        core = _build_core(configuration)
        if simulated:
            core = replace(core, options=replace(core.options, namespace_checks=_NO_LIMIT, tells_why=False))
        self._scheduler, self._clock = _make_scheduler(core, clock), clock
        self._first: Snapshot | None = None
        self._last: tuple[Snapshot, Placement, RoundResult] | None = None
        self.needs = frozenset(core.words)
        """The names, as in ``Welcome``, of the data that the cost models read."""
        self.put_off = 0
        """The number of tasks that the last round has postponed to a later round."""
        self.notes: list[str] = []
        """The remarks of cost models about bad input, each only once."""

    def apply(self, events: Iterable[pb.Event]) -> None:
        """Apply events as one step; raise ``ValueError`` for a malformed event, which is a fault of the translation."""
        from firmament.wire.events import events_from_proto

        self._scheduler.apply(events_from_proto(events))

    def list_refused(self, events: Iterable[pb.Event]) -> list[tuple[int, str]]:
        """Return the index and the fault of each malformed event, without applying any events."""
        from firmament.core.events import InvalidEventError
        from firmament.wire.events import event_from_proto

        found = []
        for index, event in enumerate(events):
            try:
                event_from_proto(event)
            except InvalidEventError as error:
                found.append((index, str(error)))
        return found

    def become_forecast(self) -> None:
        """Make approximate decisions from now on, for long forecasts."""
        self._scheduler.become_forecast()

    def has_work(self) -> bool:
        """Return whether a round now could place tasks."""
        return self._scheduler.next_round_in() == 0.0

    def next_round_in(self) -> float | None:
        """Return the seconds until a round could place tasks: 0.0 for now, None if that needs further events."""
        return self._scheduler.next_round_in()

    def run_round(
        self, *, whole: bool = True, meanwhile: Callable[[], object] = lambda: None
    ) -> pb.RoundResult:
        """Run one round, whose placements count as assumed until they are reported.

        If not ``whole``, a few plain tasks may be placed without a network. ``meanwhile`` is called before the round
        takes effect; events that it applies are treated as events that arrive while the solver works.
        """
        from firmament.wire.rounds import round_to_proto

        opened = self._scheduler.open_round(whole=whole)
        placement = opened.solve()
        meanwhile()
        result = self._scheduler.close_round(opened, placement)
        if opened.snapshot is not None:
            self._first = self._first or opened.snapshot
            self._last = opened.snapshot, placement, result
        self.notes.extend(result.notes)
        self.put_off = result.put_off
        return round_to_proto(result)

    def round_flow(self) -> pb.RoundFlow:
        """Return the flow of the last round that had tasks, with uids, as ``DescribeFlow`` does."""
        from firmament.core.round_flow.assembly import RoundSummary, first_tasks, snapshot_flow
        from firmament.wire.rounds import flow_to_proto

        if self._last is None:
            return flow_to_proto(None)
        snapshot, placement, result = self._last
        words = self._scheduler.class_words(first_tasks(snapshot))
        flow = snapshot_flow(snapshot, placement, words, with_tasks=True)
        return flow_to_proto((RoundSummary(result.round, self._clock(), result.stats, 0), flow))

    def draw_network(self, title: str) -> str:
        """Return an SVG of the network of the first round that had tasks, with its cheapest flow.

        Raises ``ValueError`` if the network is too large to be drawn, or if no round had tasks.
        """
        from firmament.pictures.rounds import draw_round
        from firmament.solvers.ortools_solver import OrToolsSolver

        if self._first is None:
            raise ValueError("no round had anything to place, so there is no network to draw")
        return draw_round(self._first, OrToolsSolver(lazy=True), title)

    def report(self, reports: Iterable[pb.BindingReport]) -> None:
        """Report the results of the scheduler's decisions to the scheduler."""
        from firmament.wire.events import reports_from_proto
        from protos.firmament.v1.scheduler_pb2 import BindingReports

        self._scheduler.report(reports_from_proto(BindingReports(reports=reports)))

    def explain(self, uid: str) -> pb.Explanation:
        """Return the verdict on every machine for a task; raise ``KeyError`` for an unknown task."""
        from firmament.wire.rounds import explanation_to_proto

        explanation = self._scheduler.explain(uid)
        self.notes.extend(note for note in explanation.notes if note not in self.notes)
        return explanation_to_proto(explanation)

    def iter_broken_rules(self) -> Iterator[tuple[str, str, str]]:
        """Yield uid, machine and reason for each task that runs on a machine that would refuse the task now."""
        yield from self._scheduler.iter_broken_rules()

    def find_cheaper_moves(
        self, prices: Mapping[str, float], move_price: float, most: int | None
    ) -> MovePlan:
        """Return moves that lower costs, as ``find_cheaper_moves`` does."""
        return find_cheaper_moves(self._scheduler, prices, move_price, most)

    def iter_hot(self, thresholds: Mapping[str, float]) -> Iterator[tuple[str, str, float]]:
        """Yield machine, resource and percentage of use above ``thresholds``, which are percentages by resource."""
        known = self._scheduler.get_measured()
        for name, most in thresholds.items():
            if name in known.resources:
                column = known.resources.index(name)
                uses = zip(known.machines, known.use[:, column], known.offered[:, column], strict=True)
                for machine, use, offered in uses:
                    if use * 100.0 > most * offered:
                        yield machine, name, float(use) * 100.0 / max(float(offered), 1.0)

    def relieve(self, movable: Collection[str], thresholds: Mapping[str, float], most: int) -> Relief:
        """Return moves of tasks from hot machines, as ``relieve`` does; in this scheduler the tasks are then moved."""
        from firmament.core.rescheduling.hot_machines import relieve

        return relieve(self._scheduler, movable, thresholds, most)

    def tasks(self) -> Iterator[pb.TaskState]:
        """Yield the state of every task."""
        from firmament.wire.rounds import task_state_to_proto

        return map(task_state_to_proto, self._scheduler.task_states())

    def machines(self) -> Iterator[pb.MachineState]:
        """Yield the state of every machine, with its free amounts."""
        from firmament.wire.rounds import machine_state_to_proto

        return map(machine_state_to_proto, self._scheduler.machine_states())


def replay_round_flow(files: Mapping[str, bytes]) -> pb.RoundFlow:
    """Decide a saved round again and return its flow; ``files``: contents by name of the file; raise ``ValueError``."""
    from firmament.saved_rounds import SavedRoundError
    from firmament.saved_rounds.replaying import replay_flow
    from firmament.saved_rounds.saving import decode_round
    from firmament.solvers.ortools_solver import OrToolsSolver
    from firmament.wire.rounds import flow_to_proto

    try:
        saved = decode_round(files)
    except SavedRoundError as error:
        raise ValueError(str(error)) from None
    return flow_to_proto(replay_flow(saved, OrToolsSolver(lazy=True), time.perf_counter))

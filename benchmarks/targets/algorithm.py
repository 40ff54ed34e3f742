"""Runs workloads on the core alone, in this process: rates count its rounds only, other work is listed separately."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import Figures
from benchmarks.targets.bridge_translation import ManifestBridge
from firmament.core.configuration import CoreConfiguration
from firmament.core.results import MachineState
from firmament.core.rounds import OpenRound, Placement
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.events import events_from_proto, reports_from_proto
from firmament.wire.rounds import round_to_proto
from poseidon.demo.binding_latency import PodName
from protos.firmament.v1 import scheduler_pb2 as pb

Observer = Callable[[OpenRound, Placement, float], None]
"""A function that gets every measured round: the snapshot, the decisions, and the seconds of the whole round."""


class AlgorithmTarget:
    """Passes manifests through the bridge's translation and the protocol's messages to the core, and runs rounds."""

    stage = "algorithm"

    def __init__(
        self,
        configuration: CoreConfiguration,
        *,
        solver: Solver | None = None,
        timer: Callable[[], float] = time.perf_counter,
        observer: Observer | None = None,
    ) -> None:
        self._bridge = ManifestBridge(configuration.words, timer)
        self._scheduler = Scheduler(
            configuration=configuration, solver=solver or OrToolsSolver(), clock=time.time, timer=timer
        )
        self._timer = timer
        self._observer = observer
        self._figures: Figures | None = None
        self._bound_before = 0
        self._begun = 0.0
        relax_garbage_collection()  # the solver process does the same
        keep_freed_memory()

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Translate objects and apply their events."""
        begin = self._timer()
        self._bridge.create(objects)
        self._apply_events(begin)

    async def delete(self, pods: Iterable[PodName]) -> None:
        """Remove pods: translate and apply the events."""
        begin = self._timer()
        self._bridge.delete(pods)
        self._apply_events(begin)

    async def advance(self, seconds: float) -> None:
        """Run a round if there is work, and wait for the rest of the time."""
        begin = self._timer()
        if self._scheduler.next_round_in() == 0.0:
            self._round()
        await asyncio.sleep(max(0.0, seconds - (self._timer() - begin)))

    async def settle(self) -> None:
        """Run rounds until no further pod can be placed."""
        while self._scheduler.next_round_in() == 0.0:
            self._round()

    def begin(self) -> None:
        """Start measuring."""
        self._bridge.latencies.clear()
        self._bound_before = self._bridge.placed
        self._figures = Figures()
        self._begun = self._timer()

    def end(self) -> Figures:
        """Stop measuring."""
        figures, self._figures = self._figures, None
        assert figures is not None
        figures.bound = self._bridge.placed - self._bound_before
        figures.waiting = self._bridge.waiting
        figures.latencies = sorted(self._bridge.latencies)
        return figures

    def machine_states(self) -> Iterable[MachineState]:
        """Return all machines and their free amounts."""
        return self._scheduler.machine_states()

    def count_broken_rules(self) -> dict[str, int]:
        """Return the number of pods that break each rule, by their manifests."""
        return self._bridge.count_broken_rules()

    def _apply_events(self, begin: float) -> None:
        events = self._bridge.take_events()
        translated = self._timer()
        self._scheduler.apply(events_from_proto(events))
        if self._figures is not None:
            self._figures.add("translate", translated - begin)
            self._figures.add("ingest", self._timer() - translated)

    def _round(self) -> None:
        begin = self._timer()
        opened = self._scheduler.open_round()
        placement = opened.solve()
        result = self._scheduler.close_round(opened, placement)
        seconds = self._timer() - begin
        done = self._timer()
        self._bridge.on_round(round_to_proto(result))
        self._scheduler.report(reports_from_proto(pb.BindingReports(reports=self._bridge.take_reports())))
        events = self._bridge.take_events()
        if events:
            self._scheduler.apply(events_from_proto(events))
        figures = self._figures
        if figures is None:
            return
        figures.seconds += seconds
        figures.add("rounds", seconds)
        figures.add("report", self._timer() - done)
        figures.rounds.append(result.stats)
        figures.curve.append((done - self._begun, self._bridge.placed - self._bound_before))
        if self._observer is not None:
            self._observer(opened, placement, seconds)

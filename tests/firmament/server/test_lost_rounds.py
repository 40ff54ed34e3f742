"""What a round has decided reaches the driver, or the driver is made to begin anew: no task stays placed in secret."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Assessment, BaseModel, MachineColumns, Range, ShapeBatch
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import Event
from firmament.core.scheduler import Scheduler
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import ClusterRegistry
from firmament.server.driver import NoStateError, StateLostError, SupersededError
from firmament.server.driving.loop import DriverLoop, RoundRunner
from firmament.server.metrics import Metrics
from firmament.server.outbox import DriverOutbox
from firmament.server.service import SchedulerService
from firmament.server.session import SessionSettings
from firmament.solvers.base import FlowProblem, FlowSolution
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.rounds import EncodedRound
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.core import Clock, machine, tasks
from tests.support.time_limits import stretch

SECONDS = 30.0


class GatedSolver(OrToolsSolver):
    """Solves once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.let = threading.Event()

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.began.set()
        assert self.let.wait(SECONDS)
        return super().solve(problem, time_limit=time_limit)


class FallsIll(BaseModel):
    """A model that fails whenever it is asked while ``ill``."""

    name = "falls_ill"
    range = Range(best=0, worst=100)

    def __init__(self) -> None:
        self.ill = False

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        if self.ill:
            raise RuntimeError("the model is ill")
        raw = np.zeros((shapes.count, machines.count))
        return Assessment(raw=raw, feasible=np.ones(raw.shape, dtype=np.bool_), reason="never")


@dataclass
class Told:
    """A driver that notes what it is told."""

    results: list[EncodedRound] = field(default_factory=list)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    def supersede(self, by_fencing: int) -> None:
        raise AssertionError(by_fencing)

    def deliver(self, result: EncodedRound) -> None:
        self.results.append(result)
        self.told.set()


class Superseded(Told):
    """A driver that another one may supersede."""

    def supersede(self, by_fencing: int) -> None:
        pass


def new_scheduler(solver: OrToolsSolver, *overlays: Any) -> Scheduler:
    models = tuple(WeightedModel(each) for each in overlays)
    configuration = CoreConfiguration(overlays=models, options=RoundOptions())
    return Scheduler(configuration=configuration, solver=solver, clock=Clock())


def begin(cluster: ServedCluster, driver: Told, *events: Event) -> None:
    cluster.attach(driver, 1)
    cluster.begin_snapshot(driver)
    cluster.apply(driver, events)
    cluster.end_snapshot(driver)


async def test_the_driver_is_told_of_a_round_whose_asker_has_gone():
    solver, driver, metrics = GatedSolver(), Told(), Metrics()
    registry = ClusterRegistry(lambda name: ServedCluster(name, lambda: new_scheduler(solver)))
    service = SchedulerService(registry, RoundRunner(metrics), SessionSettings(0.0), metrics)
    begin(registry.open("c"), driver, machine("m"), *tasks(1, "a"))
    call = asyncio.create_task(service.Schedule(pb.ScheduleRequest(cluster="c"), None))
    assert await asyncio.to_thread(solver.began.wait, SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    solver.let.set()
    async with asyncio.timeout(stretch(SECONDS)):
        await driver.told.wait()
    (delta,) = pb.RoundResult.FromString(driver.results[0].body).deltas
    assert (delta.task, delta.machine) == ("a", "m")


class TakenOver(ServedCluster):
    """Another driver attaches as soon as a round for the first one is due."""

    def next_round_in(self, driver: Any) -> float | None:
        due = super().next_round_in(driver)
        self.attach(Told(), 2)
        return due


async def test_a_driver_that_is_superseded_before_its_round_is_no_fault(caplog: pytest.LogCaptureFixture):
    driver = Superseded()
    cluster = TakenOver("c", lambda: new_scheduler(OrToolsSolver()))
    begin(cluster, driver, machine("m"), *tasks(1, "a"))
    loop = DriverLoop(cluster, driver, DriverOutbox(), RoundRunner(Metrics()), 0.0)
    with pytest.raises(SupersededError):
        await asyncio.wait_for(loop.run(), stretch(SECONDS))
    assert "round failed" not in caplog.text


def test_a_round_that_breaks_off_while_it_takes_effect_costs_the_state_and_no_task():
    model, solver, driver = FallsIll(), GatedSolver(), Told()
    cluster = ServedCluster("c", lambda: new_scheduler(solver, model))
    begin(cluster, driver, machine("m"), *tasks(1, "a"))
    failures: list[Exception] = []

    def run() -> None:
        try:
            cluster.run_round()
        except RuntimeError as error:
            failures.append(error)

    round_ = threading.Thread(target=run)
    round_.start()
    assert solver.began.wait(SECONDS)
    model.ill = True
    cluster.apply(driver, [machine("m", cpu=5_000)])
    solver.let.set()
    round_.join(SECONDS)
    assert [str(error) for error in failures] == ["the model is ill"]
    with pytest.raises(StateLostError, match="send a new snapshot"):
        cluster.next_round_in(driver)
    with pytest.raises(NoStateError):
        cluster.run_round()
    model.ill = False
    begin(cluster, driver, machine("m"), *tasks(1, "a"))
    assert cluster.next_round_in(driver) == 0.0
    result = cluster.run_round()
    assert result is not None
    assert [delta.uid for delta in result.deltas] == ["a"]


def test_a_model_that_fails_before_a_round_takes_effect_costs_nothing():
    model, solver, driver = FallsIll(), OrToolsSolver(), Told()
    cluster = ServedCluster("c", lambda: new_scheduler(solver, model))
    begin(cluster, driver, machine("m"), *tasks(1, "a"))
    model.ill = True
    with pytest.raises(RuntimeError):
        cluster.run_round()
    model.ill = False
    assert cluster.next_round_in(driver) == 0.0
    result = cluster.run_round()
    assert result is not None
    assert [delta.uid for delta in result.deltas] == ["a"]

"""A class with which every round fails is set aside, so that the tasks of others are placed."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from cost_models.interface import Assessment, BaseModel, MachineColumns, Range, ShapeBatch
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import Event
from firmament.core.requeue.set_aside import find_culprits
from firmament.core.scheduler import Scheduler
from firmament.server.cluster import ServedCluster
from firmament.server.driving.loop import RoundRunner
from firmament.server.metrics import Metrics
from firmament.solvers.ortools_solver import OrToolsSolver
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.core import Clock, machine, task_class, tasks

BAD = task_class(annotations=(("bad", "yes"),))


class Stumbles(BaseModel):
    """A model that fails over one annotation, or over anything if ``ill``."""

    name = "stumbles"
    range = Range(best=0, worst=100)

    def __init__(self) -> None:
        self.ill = False

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        if self.ill or any("bad" in row.annotations for row in shapes.rows):
            raise RuntimeError("stumbled")
        raw = np.zeros((shapes.count, machines.count))
        return Assessment(raw=raw, feasible=np.ones(raw.shape, dtype=np.bool_), reason="never")


class Driven:
    """A cluster, and the rounds that its driver would be sent."""

    def __init__(self, *events: Event) -> None:
        self.model = Stumbles()
        configuration = CoreConfiguration(overlays=(WeightedModel(self.model),))
        self.cluster = ServedCluster(
            "c",
            lambda: Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock()),
        )
        self.metrics = Metrics()
        self._runner = RoundRunner(self.metrics)
        self._driver = cast("Any", object())
        self.cluster.attach(self._driver, 1)
        self.cluster.begin_snapshot(self._driver)
        self.apply(machine("m"), *events)
        self.cluster.end_snapshot(self._driver)

    def apply(self, *events: Event) -> None:
        self.cluster.apply(self._driver, events)

    def has_work(self) -> bool:
        return self.cluster.next_round_in(self._driver) == 0.0

    def round(self) -> pb.RoundResult:
        encoded = self._runner.run_here(self.cluster)
        assert encoded is not None
        return pb.RoundResult.FromString(encoded.body)

    def fail(self, times: int) -> None:
        for _ in range(times):
            with pytest.raises(RuntimeError, match="stumbled"):
                self.round()

    def set_aside(self) -> float | None:
        return self.metrics.registry.get_sample_value("firmament_classes_set_aside_total")


def others(count: int = 5) -> list[Event]:
    return [
        event
        for number in range(count)
        for event in tasks(10 + number, f"good-{number}", content=task_class(cpu=100 + number))
    ]


def test_others_are_placed_and_its_tasks_are_told_why(caplog):
    driven = Driven(*others(), *tasks(1, "bad", content=BAD))
    with caplog.at_level(logging.ERROR):
        driven.fail(2)
        result = driven.round()
    assert {delta.task for delta in result.deltas} == {f"good-{number}" for number in range(5)}
    (told,) = result.unscheduled
    assert list(told.tasks) == ["bad"]
    assert told.message == "the scheduler fails over pods like this one (RuntimeError); see its log"
    assert driven.set_aside() == 1
    assert len([each for each in caplog.records if "class set aside" in each.message]) == 1
    assert not driven.has_work()


def test_more_tasks_of_the_class_wait_as_well():
    driven = Driven(*others(), *tasks(1, "bad", content=BAD))
    driven.fail(2)
    driven.round()
    driven.apply(tasks(1, "bad-2")[1], *tasks(99, "good-99"))
    result = driven.round()
    assert [delta.task for delta in result.deltas] == ["good-99"]
    assert [list(each.tasks) for each in result.unscheduled] == [["bad-2"]]


def test_it_is_tried_again_when_it_is_defined_again():
    driven = Driven(*others(), *tasks(1, "bad", content=BAD))
    driven.fail(2)
    driven.round()
    driven.apply(tasks(1, content=BAD)[0])
    assert driven.has_work()
    driven.fail(1)


def test_its_tasks_are_tried_when_they_are_of_another_class():
    driven = Driven(*others(), *tasks(1, "bad", content=BAD))
    driven.fail(2)
    driven.round()
    driven.apply(*tasks(2, "bad", content=replace(BAD, annotations=())))
    assert [delta.task for delta in driven.round().deltas] == ["bad"]


def test_a_fault_that_comes_with_every_class_is_nobodys():
    driven = Driven(*others())
    driven.model.ill = True
    driven.fail(5)
    driven.model.ill = False
    assert driven.has_work()
    assert len(driven.round().deltas) == 5
    assert driven.set_aside() == 0


def test_a_class_that_waits_alone_keeps_nobody_waiting():
    driven = Driven(*tasks(1, "bad", content=BAD))
    driven.fail(4)
    assert driven.set_aside() == 0
    driven.apply(*others())
    driven.fail(4)
    assert len(driven.round().deltas) == 5


@pytest.mark.parametrize("bad", [{3}, {0, 99}, {10, 11, 12, 13}])
def test_culprits_are_found_among_many(bad):
    found = find_culprits(range(100), lambda some: bool(bad & set(some)), 60)
    assert set(found) == bad


def test_no_culprit_is_named_where_none_fails_alone():
    assert not find_culprits(range(10), lambda some: {1, 8} <= set(some), 60)
    assert not find_culprits(range(10), bool, 60)
    assert not find_culprits(range(100), lambda some: bool(set(some) & set(range(0, 100, 2))), 60)

"""Who comes first where places are scarce: priority, then quality of service, then wait."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.core.configuration import RoundOptions
from firmament.core.snapshot.grouping import rank_classes
from tests.support.core import Clock, machine, placed, scheduler, task_class, tasks

QUALITIES = ("Guaranteed", "Burstable", "BestEffort")


def contest(first, second, *, by_quality, priority=0):
    """Two tasks for one place, ``first`` an hour older; returns who gets it."""
    clock = Clock()
    core = scheduler(
        tasks(1, "old", content=task_class(1000, qos=first)),
        options=RoundOptions(by_quality=by_quality),
        clock=clock,
    )
    clock.advance(3600.0)
    core.apply([machine(cpu=1000), *tasks(2, "new", content=task_class(1000, qos=second), priority=priority)])
    (winner,) = placed(core.run_round())
    return winner


@pytest.mark.parametrize("old", QUALITIES)
@pytest.mark.parametrize("new", QUALITIES)
def test_quality_goes_before_wait(old, new):
    better = QUALITIES.index(new) < QUALITIES.index(old)
    assert contest(old, new, by_quality=True) == ("new" if better else "old")
    assert contest(old, new, by_quality=False) == "old"


def test_priority_goes_before_quality():
    assert contest("Guaranteed", "BestEffort", by_quality=True, priority=1) == "new"


def test_an_unknown_quality_is_in_the_middle():
    assert contest("", "Guaranteed", by_quality=True) == "new"
    assert contest("", "BestEffort", by_quality=True) == "old"
    assert contest("BestEffort", "", by_quality=True) == "new"


def test_ranks_are_by_priority_then_level_then_quality():
    given = [(p, level, q) for p in (-5, 0, 7) for level in (0, 1) for q in (0, 1, 2)]
    columns = [np.array(column, dtype=np.int64) for column in zip(*given, strict=True)]
    assert rank_classes(*columns).tolist() == list(range(len(given)))


@pytest.mark.parametrize(
    ("overlays", "sort", "expected"),
    [
        ((), "topological", False),
        (("network_overhead",), "topological", True),
        (("network_overhead",), "priority", False),
    ],
)
def test_the_configuration_says_so(overlays, sort, expected):
    configuration = SchedulerConfiguration.model_validate(
        {"queueSort": sort, "costModels": [{"name": name} for name in overlays]}
    )
    assert build_core(configuration).options.by_quality is expected

"""By when machines have enough free by stated run times, and what tasks use that do not end by themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, TasksBound
from firmament.core.queue.lasting_use import lasting_use, longest_run
from firmament.core.queue.stated_ends import find_start
from firmament.core.state.cluster import Cluster
from tests.support.core import START, machine, scheduler, task_class, tasks

UNKNOWN = -math.inf


def bound(number: int, cpu: int, on: str, *began: float, **content: Any) -> list[Event]:
    """Tasks of one class that got their machine so many seconds before the start; NaN: unknown."""
    uids = tuple(f"t{number}-{index}" for index in range(len(began)))
    assigned = tuple(0.0 if math.isnan(each) else START - each for each in began)
    return [ClassDefined(number, task_class(cpu, **content)), TasksBound(on, number, uids, assigned=assigned)]


def cluster(*events: Event | list[Event]) -> Cluster:
    """Machines m and n of 1000 milli-cores with tasks."""
    return scheduler(machine("m", cpu=1000), machine("n", cpu=1000), *events)._cluster


def start(made: Cluster, now: float = 0.0, **cpu: int) -> float:
    """By when these machines have so much free, in seconds after the start."""
    column = made.resources.names.index("cpu")
    needed = {}
    for name, amount in cpu.items():
        amounts = np.zeros(made.machines.capacity.shape[1], dtype=np.int64)
        amounts[column] = amount
        needed[made.machines.row_of.get(name, -1)] = amounts
    return find_start(made, needed, START + now) - START


class TestStarts:
    @pytest.mark.parametrize(
        ("needed", "expected"),
        [(0, 0.0), (100, 0.0), (101, 50.0), (400, 50.0), (401, 200.0), (1000, 200.0), (1001, UNKNOWN)],
    )
    def test_the_first_tasks_to_end_make_room_first(self, needed: int, expected: float):
        """100 are free; 300 end in 50 s, and 600 in 200 s."""
        made = cluster(
            bound(1, 300, "m", 50.0, run_seconds=100),
            bound(2, 600, "m", 0.0, run_seconds=200),
            bound(3, 900, "n", 0.0),
        )
        assert start(made, m=needed) == expected

    def test_tasks_without_a_stated_end_stay_and_an_unknown_beginning_is_when_they_came(self):
        made = cluster(
            bound(1, 300, "m", math.nan, run_seconds=100),
            bound(2, 300, "m", 10.0),
            bound(3, 300, "m", 10.0, run_seconds=30),
        )
        assert start(made, m=400) == 20.0
        assert start(made, m=700) == 100.0
        assert start(made, m=701) == UNKNOWN

    def test_a_task_beyond_its_stated_end_may_end_any_time(self):
        made = cluster(bound(1, 900, "m", 100.0, run_seconds=30))
        assert start(made, m=1000) == 0.0
        assert start(made, now=7.0, m=1000) == 7.0

    def test_a_leaving_task_counts_as_gone(self):
        made = cluster(bound(1, 900, "m", 5.0, terminating=True))
        assert start(made, m=1000) == 0.0

    def test_of_several_machines_the_last_decides(self):
        made = cluster(bound(1, 900, "m", 0.0, run_seconds=30), bound(2, 900, "n", 0.0, run_seconds=70))
        assert start(made, m=500, n=500) == 70.0
        assert start(made, m=500, n=100) == 30.0
        assert start(made, m=500, n=2000) == UNKNOWN

    def test_a_machine_that_is_gone_has_no_time(self):
        assert start(cluster(), m=10, gone=10) == UNKNOWN


class TestLastingUse:
    def scene(self) -> Cluster:
        return cluster(
            bound(1, 100, "m", 10.0, 400.0, runs_to_completion=True),
            bound(2, 30, "m", 5.0, 5.0),
            bound(3, 7, "n", 0.5, runs_to_completion=True),
            bound(4, 500, "n", 9.0, terminating=True),
            tasks(5, "waits", content=task_class(1)),
        )

    def cpu(self, made: Cluster, rows: list[str] | None = None) -> dict[str, int]:
        column = made.resources.names.index("cpu")
        row_of = made.machines.row_of
        some = None if rows is None else np.array([row_of[name] for name in rows], dtype=np.int64)
        used = lasting_use(made, some)[:, column]
        return {name: int(used[row]) for name, row in row_of.items()}

    def test_tasks_that_end_or_leave_do_not_count(self):
        assert self.cpu(self.scene()) == {"m": 60, "n": 0}

    def test_of_some_machines(self):
        made = cluster(bound(1, 30, "m", 5.0), bound(2, 40, "n", 5.0))
        assert self.cpu(made) == {"m": 30, "n": 40}
        assert self.cpu(made, ["n"]) == {"m": 0, "n": 40}
        assert self.cpu(made, []) == {"m": 0, "n": 0}

    def test_the_oldest_task_that_is_expected_to_end(self):
        made = self.scene()
        run = longest_run(made, START)
        assert {name: run[row] for name, row in made.machines.row_of.items()} == {"m": 400.0, "n": 1.0}
        later = longest_run(made, START + 10.0)
        assert {name: later[row] for name, row in made.machines.row_of.items()} == {"m": 410.0, "n": 10.5}

    def test_a_task_of_unknown_age_began_when_it_came(self):
        made = cluster(bound(1, 30, "m", math.nan, runs_to_completion=True))
        assert longest_run(made, START).tolist() == [1.0, 1.0]

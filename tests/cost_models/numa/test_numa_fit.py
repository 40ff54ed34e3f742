"""What the model answers about machines without zones, tasks that records do not count yet, and evictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Arrivals, Assessment, Int64, ShapeRow
from cost_models.numa.numa_fit import NumaFit
from cost_models.numa.requests import HINT
from cost_models.numa.room_after_eviction import ZonesAfterEviction
from tests.cost_models.numa.builders import batch, columns, container, payload, shape, zone

CAPACITY = {"cpu": 64_000}
RECORD = payload(
    zone(0, {"cpu": 1000}, capacity={"cpu": 4000}, allocatable={"cpu": 4000}),
    zone(1, {"cpu": 2000}, capacity={"cpu": 4000}, allocatable={"cpu": 4000}),
)


class Residents:
    """Kinds of tasks on machines, given by their containers."""

    def __init__(self, kinds: list[ShapeRow]) -> None:
        self._kinds = kinds

    def rows(self, kinds: Int64) -> list[ShapeRow]:
        return [self._kinds[each] for each in kinds.tolist()]

    def requests(self, kinds: Int64) -> Int64:
        return np.zeros((len(kinds), 3), dtype=np.int64)


def assess(
    *rows: ShapeRow,
    records: dict[str, bytes],
    tasks: list[tuple[int, int, bool, bool]] | None = None,
    kinds: list[ShapeRow] | None = None,
    now: float = 0.0,
    **arguments: Any,
) -> Assessment:
    """Assess shapes on machines; ``tasks``: machine, kind, whether after the record, whether for others' places."""
    machines = columns(records, CAPACITY, now=now)
    if tasks is not None:
        count = len(tasks)
        arrivals = Arrivals(
            machine=np.array([each[0] for each in tasks], dtype=np.int64),
            kind=np.array([each[1] for each in tasks], dtype=np.int64),
            task=np.arange(count),
            after=np.array([each[2] for each in tasks], dtype=np.bool_),
            displacing=np.array([each[3] for each in tasks], dtype=np.bool_),
            time=np.full(count, np.nan),
            uids=[f"t{number}" for number in range(count)],
            kinds=Residents(kinds or []),
        )
        machines = replace(machines, arrivals=arrivals)
    return NumaFit(**arguments).assess(machines, batch(rows, machines.resources))


def cpu(*cores: int, **more: Any) -> ShapeRow:
    """A guaranteed pod with one container for each number of cores."""
    return shape(*(container(f"c{n}", cpu=1000 * each) for n, each in enumerate(cores)), **more)


class TestWithoutZones:
    """No machine has a record."""

    def test_guaranteed_pods_score_nothing_and_others_all(self):
        answer = assess(cpu(1), cpu(1, qos="Burstable"), records={"a": b"", "b": b""})
        assert answer.raw.tolist() == [[0.0], [100.0]]
        assert answer.score is not None
        assert answer.score.tolist() == [[0.0, 0.0], [100.0, 100.0]]
        assert answer.feasible is None
        assert answer.ledger is None

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"missingTopology": "refuse"}, [[False] * 2, [True] * 2, [False] * 2]),
            ({"podHints": True}, [[True] * 2, [True] * 2, [False] * 2]),
            ({"podHints": True, "missingTopology": "refuse"}, [[False] * 2, [True] * 2, [False] * 2]),
        ],
    )
    def test_only_pods_that_need_alignment_are_refused(
        self, arguments: dict[str, Any], expected: list[list[bool]]
    ):
        rows = [cpu(1), shape(qos="BestEffort"), cpu(1, annotations={HINT: "restricted"})]
        rows[1] = shape(container("c"), qos="BestEffort")
        answer = assess(*rows, records={"a": b"", "b": b""}, **arguments)
        assert answer.feasible is not None
        assert answer.feasible.tolist() == expected
        assert answer.reason == "no node topology data"

    def test_a_hint_counts_only_if_it_is_asked_for(self):
        hinted = cpu(1, annotations={HINT: "restricted"})
        assert assess(hinted, records={"a": b""}).feasible is None


class TestUncounted:
    """Zones have 1 and 2 cores left."""

    @pytest.mark.parametrize(("after", "room"), [(False, [True, True, False]), (True, [True, False, False])])
    def test_a_task_that_a_record_does_not_count_takes_its_zone(self, after: bool, room: list[bool]):
        answer = assess(
            cpu(1), cpu(2), cpu(3), records={"a": RECORD}, tasks=[(0, 0, after, False)], kinds=[cpu(2)]
        )
        assert answer.feasible is not None
        assert answer.feasible[:, 0].tolist() == room

    @pytest.mark.parametrize(
        ("arguments", "displacing", "refused"),
        [
            ({}, False, [False, False, False]),
            ({}, True, [True, False, False]),
            ({"discardReservedNodes": True}, False, [True, False, False]),
        ],
    )
    def test_machines_whose_zones_are_not_certain_wait_for_a_record(
        self, arguments: dict[str, Any], displacing: bool, refused: list[bool]
    ):
        records = {"a": RECORD, "b": RECORD, "u": b""}
        answer = assess(
            cpu(1),
            records=records,
            tasks=[(0, 0, True, displacing), (2, 0, True, False)],
            kinds=[cpu(1)],
            **arguments,
        )
        assert answer.feasible is not None
        assert (~answer.feasible[0]).tolist() == refused
        if any(refused):
            assert answer.causes is not None
            assert answer.reasons[int(answer.causes[0, 0])] == "invalid node topology data"

    @pytest.mark.parametrize(
        ("stale", "now", "expected"),
        [
            ("use", 100.0, ([False, False], 1)),
            ("refuse", 10.0, ([False, True], 1)),
            ("refuse", 10.5, ([True, True], 1)),
            ("ignore", 10.5, ([False, False], 2)),
        ],
    )
    def test_old_records_are_used_refused_or_ignored(
        self, stale: str, now: float, expected: tuple[list[bool], int]
    ):
        """The first record is of time 5 and the second has none; those older than 5 s are stale."""
        zones = zone(0, {"cpu": 1000})
        records = {"a": payload(zones, updated=5.0), "b": payload(zones)}
        answer = assess(cpu(1), records=records, now=now, staleAfterSeconds=5, staleTopology=stale)
        assert answer.feasible is not None
        assert (~answer.feasible[0]).tolist() == expected[0]


class TestEvictions:
    """Machine 0 has 1 and 2 cores left of 4 and 4; tasks of 3 and 2 cores are there."""

    def opening(self, *rows: ShapeRow, after: bool = False, **arguments: Any) -> ZonesAfterEviction | None:
        answer = assess(
            *rows,
            records={"a": RECORD, "n": payload(zone(0, {"cpu": 1000}), policy="none"), "u": b""},
            tasks=[(1, 1, False, False), (0, 0, False, False), (0, 1, after, False)],
            kinds=[cpu(3), cpu(2)],
            **arguments,
        )
        found = answer.room_after_eviction
        assert found is None or isinstance(found, ZonesAfterEviction)
        return found

    def test_only_if_it_is_asked_for(self):
        assert self.opening(cpu(4)) is None
        assert assess(cpu(4), records={"a": RECORD}, preemptionMode="Enabled").room_after_eviction is None

    def test_what_machines_open_for(self):
        made = self.opening(cpu(4), cpu(1), preemptionMode="Enabled")
        assert made is not None
        assert made.held.tolist() == [[True, False, False], [False, False, False]]
        assert made.open_to_it.tolist() == [True, False, False]
        assert made.given[made.requests.resources.index("cpu"), 0].tolist() == [3000, 2000]
        assert made.machine.tolist() == [0, 0, 1], "tasks by machine, in order of arrival"
        assert made.task.tolist() == [1, 2, 0]
        assert [made.residing.amounts[each, 0].max() for each in made.shape.tolist()] == [3000, 2000, 2000]
        assert [made.admits(0, 0, tasks) for tasks in ([1], [2], [1, 2], [])] == [True, False, True, False]

    def test_a_machine_with_tasks_that_its_record_does_not_count_stays_closed(self):
        made = self.opening(cpu(4), after=True, preemptionMode="Enabled")
        assert made is not None
        assert made.open_to_it.tolist() == [False, False, False]

    def test_a_machine_that_is_refused_for_its_record_does_not_wait_for_room(self):
        answer = assess(
            cpu(4),
            records={"a": payload(zone(0, {"cpu": 1000}), updated=0.0), "b": RECORD},
            tasks=[],
            now=100.0,
            staleAfterSeconds=5,
            staleTopology="refuse",
            preemptionMode="Enabled",
        )
        made = answer.room_after_eviction
        assert isinstance(made, ZonesAfterEviction)
        assert made.held.tolist() == [[False, False]]
        assert made.open_to_it.tolist() == [False, False]

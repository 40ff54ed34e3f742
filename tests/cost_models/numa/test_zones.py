"""The table of zones, the room that records state, and the tasks that they do not count yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Arrivals, Int64, ShapeRow
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.records import POLICIES
from cost_models.numa.requests import compile_requests, pods_of
from cost_models.numa.single_zone_alignment import UNLIMITED, UNLISTED
from cost_models.numa.zones import NO_RECORD, ZoneReader, ZoneTable, find_tasks_beyond_records, zone_room
from tests.cost_models.numa.builders import columns, container, payload, shape, zone

TWO = payload(zone(0, {"cpu": 4000, "gpu": 1}, {0: 10, 1: 21}), zone(1, {"cpu": 3000}, {0: 22, 1: 11}))
ONE = payload(
    zone(5, {"cpu": 500}, capacity={"cpu": 900}, allocatable={"cpu": 800}), scope="pod", updated=7.0
)
NONE = payload(policy="none", maxNUMANodes=3)


def read(**records: bytes) -> ZoneTable:
    table, notes = ZoneReader().read(list(records), {name: each for name, each in records.items() if each})
    assert notes == ()
    assert table is not None
    return table


class TestTable:
    def test_records_become_columns(self):
        table = read(a=TWO, b=ONE, c=b"", d=NONE)
        assert table.machines == 4
        assert table.resources == ("cpu", "gpu")
        assert table.policy.tolist() == [3, 3, NO_RECORD, 0]
        assert table.known.tolist() == [True, True, False, True]
        assert table.pod_scope.tolist() == [False, True, False, False]
        assert table.max_zones.tolist() == [8, 8, 1, 3]
        assert table.zones.tolist() == [2, 1, 0, 0]
        assert table.there.tolist() == [[True, True], [True, False], [False, False], [False, False]]
        assert np.nan_to_num(table.updated, nan=-1.0).tolist() == [-1.0, 7.0, -1.0, -1.0]
        cpu, gpu = table.listed.tolist()
        assert cpu == [[True, True], [True, False], [False, False], [False, False]]
        assert gpu == [[True, False], [False, False], [False, False], [False, False]]
        assert table.amounts[:, 0, :2].tolist() == [
            [[4000, 3000], [500, 0]], [[4000, 3000], [800, 0]], [[4000, 3000], [900, 0]],
        ]  # fmt: skip
        assert table.distance[0].tolist() == [[10, 21], [22, 11]]
        assert table.distance[1].tolist() == [[255, 255], [255, 255]]
        assert table.missing == {}

    def test_tasks_that_a_record_misses_are_kept_by_machine(self):
        table = read(a=TWO, b=payload(zone(0, {"cpu": 1}), missing=["u"]), c=payload(missing=[]))
        assert table.missing == {1: frozenset({"u"}), 2: frozenset()}

    def test_resources_are_added_once_and_listed_nowhere(self):
        table = read(a=TWO)
        assert table.add_resources(["cpu", "gpu"]) is table
        more = table.add_resources(["gpu", "memory"])
        assert more.resources == ("cpu", "gpu", "memory")
        assert more.listed.tolist() == [*table.listed.tolist(), [[False, False]]]
        assert more.amounts[:, 2].tolist() == [[[0, 0]]] * 3
        assert more.amounts[:, :2].tolist() == table.amounts.tolist()

    def test_dropped_machines_have_no_record(self):
        table = read(a=TWO, b=ONE).drop_machines(np.array([True, False]))
        assert (table.policy.tolist(), table.zones.tolist()) == ([NO_RECORD, 3], [0, 1])
        assert table.policy.dtype == np.int8
        assert table.listed[0].tolist() == [[False, False], [True, False]]


class TestReader:
    def test_equal_records_give_the_same_table(self):
        reader = ZoneReader()
        first, _ = reader.read(["a", "b"], {"a": TWO, "b": ONE})
        again, _ = reader.read(["a", "b"], {"a": TWO, "b": ONE, "gone": NONE})
        assert again is first
        turned, _ = reader.read(["b", "a"], {"a": TWO, "b": ONE})
        assert turned is not None
        assert turned.zones.tolist() == [1, 2]
        changed, _ = reader.read(["b", "a"], {"a": ONE, "b": ONE})
        assert changed is not None
        assert changed.zones.tolist() == [1, 1]

    def test_a_bad_record_is_noted_each_time_and_counts_as_none(self):
        reader = ZoneReader()
        for _ in range(2):
            table, notes = reader.read(["a", "b"], {"a": b"{", "b": ONE})
            assert table is not None
            assert table.policy.tolist() == [NO_RECORD, 3]
            assert len(notes) == 1
            assert notes[0].startswith("record NodeResourceTopology/'a': ")
            assert notes[0].endswith("; the machine counts as one without a record")

    def test_without_records_there_is_no_table(self):
        assert ZoneReader().read(["a"], {"b": ONE}) == (None, ())
        table, notes = ZoneReader().read(["a"], {"a": b"{"})
        assert table is None
        assert len(notes) == 1


def room(capacity: dict[str, int], *asked: str, options: NumaOptions | None = None, **records: bytes) -> Any:
    """The room of machines for one guaranteed task that asks for these resources."""
    options = options or NumaOptions()
    machines = columns(records, capacity)
    amounts: dict[str, Any] = dict.fromkeys(asked, 1)
    row = shape(container("c", **amounts))
    pods = pods_of([row], np.zeros((1, 1), np.int64), ("cpu",), options)
    table = read(**records).add_resources(sorted({name for name, _ in row.containers[0].requests}))
    return zone_room(table, compile_requests(pods, table.resources, options), machines, options)


class TestRoom:
    def test_amounts_and_totals(self):
        found = room({"cpu": 8000}, "cpu", a=TWO, b=ONE)
        assert found.left[0].tolist() == [[4000, 3000], [500, UNLISTED]]
        assert found.total[0].tolist() == [[4000, 3000], [900, 0]], "cpu counts what is reserved too"
        memory = payload(zone(0, {"memory": 5}, capacity={"memory": 9}, allocatable={"memory": 8}))
        assert room({"memory": 9}, "memory", a=memory).total[0].tolist() == [[8]]
        gpu = payload(zone(0, {"x.y/g": 5}, capacity={"x.y/g": 9}, allocatable={"x.y/g": 8}))
        assert room({"x.y/g": 9}, "x.y/g", a=gpu).total[0].tolist() == [[9]]

    def test_devices_that_belong_to_no_zone_are_unlimited_where_the_machine_has_them(self):
        assert room({"example.com/gpu": 1}, "gpu", a=TWO).left[2].tolist() == [[UNLIMITED, UNLIMITED]]
        assert room({"example.com/gpu": 1}, "gpu", b=ONE, a=TWO).left[2].tolist() == [
            [UNLIMITED, UNLISTED],
            [UNLIMITED, UNLIMITED],
        ]
        assert room({"example.com/gpu": 0}, "gpu", a=TWO).left[2].tolist() == [[UNLISTED, UNLISTED]]
        assert room({}, "gpu", a=TWO).left[2].tolist() == [[UNLISTED, UNLISTED]]

    def test_cpu_that_no_zone_lists_is_nowhere(self):
        bare = payload(zone(0, {"memory": 1}))
        found = room({"cpu": 1, "memory": 1}, "cpu", a=bare)
        assert found.left.tolist() == [[[1]], [[UNLISTED]]]

    def test_only_policies_that_are_modelled_align(self):
        records: dict[str, Any] = {
            word: payload(zone(0, {"cpu": 1}), policy=word) for word in ("restricted", "best-effort")
        }
        records |= {"a": TWO, "n": NONE, "u": b""}
        assert room({"cpu": 1}, "cpu", **records).policy.tolist() == [0, 0, 3, 0, 0]
        both = NumaOptions(modelled=frozenset({POLICIES.index("restricted")}))
        assert room({"cpu": 1}, "cpu", options=both, **records).policy.tolist() == [2, 0, 3, 0, 0]


class NoKinds:
    """Descriptions that nobody asks for here."""

    def rows(self, kinds: Int64) -> list[ShapeRow]:
        raise NotImplementedError

    def requests(self, kinds: Int64) -> Int64:
        raise NotImplementedError


def arrivals(*entries: tuple[int, float, bool]) -> Arrivals:
    """Tasks by machine, time and whether they came after the record; their ids are t0, t1 and so on."""
    count = len(entries)
    return Arrivals(
        machine=np.array([each[0] for each in entries], dtype=np.int64),
        kind=np.arange(count),
        task=np.arange(count)[::-1].copy(),
        time=np.array([each[1] for each in entries]),
        after=np.array([each[2] for each in entries], dtype=np.bool_),
        displacing=np.zeros(count, dtype=np.bool_),
        uids=[f"t{number}" for number in range(count)],
        kinds=NoKinds(),
    )


class TestUncounted:
    TABLE = read(a=payload(updated=100.0), b=payload(updated=100.0, missing=["t0"]), c=b"", d=payload())
    """Records of the same time; b's says what it misses, and d's has no time."""

    def find(self, *entries: tuple[int, float, bool], settle: float = 0.0) -> list[int]:
        found = find_tasks_beyond_records(arrivals(*entries), self.TABLE, NumaOptions(settle=settle))
        return [] if found is None else found.kind.tolist()

    @pytest.mark.parametrize(
        ("time", "settle", "counted"),
        [(99.0, 0.0, True), (100.0, 0.0, True), (100.5, 0.0, False), (95.0, 5.0, True), (95.5, 5.0, False)],
    )
    def test_tasks_that_came_later_than_the_record(self, time: float, settle: float, counted: bool):
        assert self.find((0, time, False), settle=settle) == ([] if counted else [0])

    def test_tasks_that_came_after_it_by_order(self):
        assert self.find((0, 1.0, True), (2, 1.0, True), (3, 1.0, True), (3, 1e9, False)) == [0, 2]

    def test_a_record_that_names_them_is_believed(self):
        assert self.find((1, 1e9, False), (1, 1.0, False)) == [1], "t0 is the last by its number"
        assert self.find((1, 1.0, True)) == [0]

    def test_a_time_that_is_not_known_is_no_reason(self):
        assert self.find((0, np.nan, False)) == []

    def test_nobody_is_none(self):
        assert find_tasks_beyond_records(None, self.TABLE, NumaOptions()) is None
        assert find_tasks_beyond_records(arrivals(), self.TABLE, NumaOptions()) is None
        assert find_tasks_beyond_records(arrivals((0, 1.0, False)), self.TABLE, NumaOptions()) is None

    def test_all_columns_are_those_of_the_rest(self):
        given = replace(arrivals((0, 1.0, False), (0, 200.0, False)), displacing=np.array([False, True]))
        found = find_tasks_beyond_records(given, self.TABLE, NumaOptions())
        assert found is not None
        assert (found.machine.tolist(), found.kind.tolist(), found.task.tolist()) == ([0], [1], [0])
        assert (found.time.tolist(), found.after.tolist(), found.displacing.tolist()) == (
            [200.0], [False], [True],
        )  # fmt: skip
        assert found.uids == given.uids

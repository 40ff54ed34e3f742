"""Orders, runs and ranks of rows by keys, against Python's own sorting; and sums that never wrap around."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cost_models.registry import load_model
from firmament.core.configuration import (
    CoreConfiguration,
    FairShare,
    RoundOptions,
    SizeLimits,
    WeightedModel,
)
from firmament.core.model import TaskClass
from firmament.core.ranks import (
    SHORT,
    ColumnMarks,
    count_distinct,
    count_up,
    expand_ranges,
    find_runs,
    group_equal_rows,
    group_rows,
    order_by,
    order_of,
    places_in,
    rank,
    rank_in_runs,
    sum_before_in_runs,
)
from firmament.core.resources import (
    CEILING,
    FIRST_RESOURCES,
    LEAST_SURPLUS,
    NO_COLUMN,
    ResourceIndex,
    SaturatingSums,
    ShapeRequests,
    widen,
)
from tests.support.rules import ints

KEYS = [
    [],
    [3],
    [2, 2, 2],
    [5, -1, 5, 0, -1],
    [0, SHORT - 1, 0, 7],
    [0, SHORT, 0, 7, SHORT],
    [10**12, -(10**12), 10**12],
]


@pytest.mark.parametrize("keys", KEYS)
def test_orders_and_ranks(keys: list[int]):
    given = ints(*keys)
    order = sorted(range(len(keys)), key=lambda row: (keys[row], row))
    assert order_by(given).tolist() == order
    assert rank(given).tolist() == [keys[:row].count(key) for row, key in enumerate(keys)]
    values, counts = count_distinct(given)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == Counter(keys)
    assert values.tolist() == sorted({*keys})
    groups = [[row for row, key in enumerate(keys) if key == value] for value in sorted({*keys})]
    assert [each.tolist() for each in group_rows(given)] == groups


@pytest.mark.parametrize("number", [SHORT, SHORT + 1])
def test_orders_of_numbers(number: int):
    nodes = ints(number - 1, 0, number - 1, 3)
    assert order_of(nodes, number).tolist() == [1, 3, 0, 2]


def test_runs():
    starts, lengths = find_runs(ints(4, 4, 7, 9, 9, 9))
    assert (starts.tolist(), lengths.tolist()) == ([0, 2, 3], [2, 1, 3])
    assert [each.tolist() for each in find_runs(ints())] == [[], []]
    assert rank_in_runs(ints(4, 4, 7, 9, 9, 9)).tolist() == [0, 1, 0, 0, 1, 2]
    sums = sum_before_in_runs(ints(1, 2, 5, 3, 4, 6), starts, lengths)
    assert sums.tolist() == [0, 1, 0, 0, 3, 7]
    assert count_up(ints(2, 0, 3)).tolist() == [0, 1, 0, 1, 2]
    assert places_in(ints(3, 0), 5).tolist() == [1, -1, -1, 0, -1]


def test_equal_columns():
    rows = np.array([[1, 2, 1, 2], [5, 5, 5, 6], [0, 0, 0, 0]])
    marks = ColumnMarks(4)
    marks.add(rows[:1])
    assert marks.count() == 2
    marks.add(rows[1:])
    assert marks.count() == 3
    found = marks.groups()
    assert found is not None
    group, first, size = found
    assert group[0] == group[2]
    assert len({*group.tolist()}) == 3
    assert sorted(first.tolist()) == [0, 1, 3]
    assert size[group].tolist() == [2, 1, 2, 1]
    again = ColumnMarks(4)
    again.add_each(rows)
    twice = again.groups()
    assert twice is not None
    assert twice[0].tolist() == group.tolist()
    assert ColumnMarks(0).count() == 0
    part = ColumnMarks(3)
    part.add(np.array([[7]]), ints(1))
    assert part.count() == 2


# --- resources -------------------------------------------------------------------------------------------------------


def test_columns_of_resources():
    index = ResourceIndex()
    assert tuple(index.names) == FIRST_RESOURCES
    index.add_machine(["cpu", "gpu", "nic"])
    index.add_machine(["gpu"])
    assert index.version == 2
    assert len(index) == 6
    assert index.columns(["gpu", "cpu", "none"]) == [4, 1, NO_COLUMN]
    assert "gpu" in index
    assert "none" not in index
    assert "nic" in index.known
    assert index.vector({"gpu": 3, "none": 9, "cpu": 1}).tolist() == [0, 1, 0, 0, 3, 0]
    index.remove_machine(["gpu"])
    index.remove_machine(["nic", "cpu"])
    assert index.compact().tolist() == [0, 1, 2, 3, 4]
    assert (index.version, index.names[4:]) == (3, ["gpu"])
    assert index.columns(["nic", "gpu"]) == [NO_COLUMN, 4]
    index.remove_machine(["gpu"])
    assert index.compact().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("resources", "unused", "surplus"), [(16, 15, 0), (16, 16, 1), (96, 24, 0), (96, 25, 1)]
)
def test_when_it_is_worth_removing_columns(resources: int, unused: int, surplus: int):
    index, names = ResourceIndex(), [f"r{number}" for number in range(resources)]
    index.add_machine(names)
    index.remove_machine(names[:unused])
    assert index.has_surplus is bool(surplus)


def test_columns_that_are_used_again_or_removed_are_no_surplus():
    index, names = ResourceIndex(), [f"r{number}" for number in range(LEAST_SURPLUS)]
    index.add_machine(names)
    index.remove_machine(names)
    found = [index.has_surplus]
    index.add_machine(names[:1])
    found.append(index.has_surplus)
    index.remove_machine(names[:1])
    found.append(index.has_surplus)
    index.compact()
    assert [*found, index.has_surplus] == [True, False, True, False]


def test_tables_grow():
    table = np.ones((2, 2), dtype=np.int64)
    assert widen(table, 2, 1) is table
    wide = widen(table, 1, 3)
    assert wide.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert widen(table, 3, 1).shape == (64, 2)
    assert widen(np.zeros((40, 1), dtype=np.int64), 41, 1).shape == (80, 1)
    assert widen(np.zeros((40, 1), dtype=np.int64), 100, 1).shape == (100, 1)


HALF = CEILING // 2


def test_sums_above_the_ceiling():
    sums, large = SaturatingSums(3, 2), ints(HALF, 1)
    for _ in range(2):
        sums.add(0, large, 1)
    assert sums.cells[0].tolist() == [CEILING, 2]
    assert sums.beyond.tolist() == []
    sums.add(0, large, 1)
    assert sums.cells[0].tolist() == [CEILING, 3]
    assert sums.beyond.tolist() == [0]
    assert sums.subtract(0, ints(HALF + 5)).tolist() == [CEILING - 5, 3]
    sums.add(1, ints(4), 1)
    sums.move(0, 2)
    assert (sums.cells[0].tolist(), sums.beyond.tolist()) == ([0, 0], [2])
    sums.add(2, ints(HALF), -1)
    assert sums.cells[2].tolist() == [CEILING, 3]
    assert sums.beyond.tolist() == []
    sums.add_all(ints(0, 2, 0), np.array([[1], [1], [1]]), first=1)
    assert sums.cells.tolist() == [[0, 2], [4, 0], [CEILING, 4]]
    sums.add_all(ints(0), np.array([[1, 1]]), count=-1)
    assert sums.cells[0].tolist() == [-1, 1]
    sums.add_all(ints(1, 1, 1), np.array([[HALF, 0], [HALF, 0], [HALF, 0]]))
    assert sums.cells[1].tolist() == [CEILING, 0]
    assert sums.beyond.tolist() == [1]
    assert sums.subtract(1, ints(3 * HALF)).tolist() == [4, 0]
    sums.fit(4, 3)
    sums.keep_columns(ints(2, 0))
    assert sums.cells[1].tolist() == [0, CEILING]
    sums.add(1, ints(0, HALF), -1)
    assert sums.cells[1].tolist() == [0, CEILING]
    sums.add(1, ints(0, HALF), -1)
    assert sums.cells[1].tolist() == [0, HALF + 4]
    sums.clear(1)
    assert sums.cells[1].tolist() == [0, 0]


def test_a_row_that_is_cleared_forgets_what_was_beyond():
    sums = SaturatingSums(2, 1)
    for row in (0, 1):
        for _ in range(3):
            sums.add(row, ints(HALF), 1)
    sums.clear(0)
    assert sums.beyond.tolist() == [1]
    sums.add(0, ints(3), 1)
    assert sums.cells.tolist() == [[3], [CEILING]]


def test_requests_by_shape():
    index, shapes = ResourceIndex(), [TaskClass((("cpu", 5), ("gpu", 2)), assumed=(("memory", 7),))]
    requests = ShapeRequests(index, shapes)
    requested, assumed = requests.get(0)
    assert (requested.tolist(), assumed.tolist()) == ([0, 5, 0, 0], [0, 0, 7, 0])
    index.add_machine(["gpu"])
    assert requests.get(0)[0].tolist() == [0, 5, 0, 0, 2]
    shapes.append(TaskClass((("memory", 1),)))
    assert requests.rows([1, 0, 1])[0].tolist() == [[0, 0, 1, 0, 0], [0, 5, 0, 0, 2], [0, 0, 1, 0, 0]]
    shapes[0] = TaskClass((("cpu", 9),))
    assert requests.get(0)[0].tolist() == [0, 5, 0, 0, 2]
    requests.forget()
    assert requests.get(0)[0].tolist() == [0, 9, 0, 0, 0]
    assert requests.rows([0])[1].tolist() == [[0, 0, 0, 0, 0]]


@pytest.mark.parametrize("columns", [1, 5, 62, 63, 80])
def test_sets_of_equal_rows_are_in_order(columns: int):
    rng = np.random.default_rng(columns)
    known = rng.random((4, columns)) < 0.5
    rows = known[rng.integers(0, 4, size=30)]
    first, of = group_equal_rows(rows)
    listed = [tuple(row) for row in rows.tolist()]
    distinct = sorted(set(listed))
    assert [listed[place] for place in first.tolist()] == distinct
    assert first.tolist() == [listed.index(row) for row in distinct]
    assert [distinct[number] for number in of.tolist()] == listed


def test_ranges_follow_each_other():
    assert expand_ranges(ints(5, 0, 9), ints(2, 0, 3)).tolist() == [5, 6, 9, 10, 11]
    assert expand_ranges(ints(), ints()).tolist() == []


def test_rows_without_columns_are_one_set():
    first, of = group_equal_rows(np.zeros((3, 0), dtype=np.bool_))
    assert (first.tolist(), of.tolist()) == ([0], [0, 0, 0])
    first, of = group_equal_rows(np.zeros((0, 2), dtype=np.bool_))
    assert (first.tolist(), of.tolist()) == ([], [])


# --- configuration ---------------------------------------------------------------------------------------------------


def test_what_holds_unless_stated():
    assert SizeLimits() == SizeLimits(2_000_000, 200_000, 500_000, 500_000, 1_048_576)
    options = RoundOptions()
    assert (options.seed, options.reserve_after_rounds, options.reserve_for_rounds) == (0, 8, 256)
    assert (options.reserve_after, options.reserve_for) == (60.0, 300.0)
    assert (options.first_backoff, options.last_backoff) == (1.0, 60.0)
    assert (options.namespace_checks, options.class_checks) == (6_000_000, 10_000)
    assert (options.by_quality, options.preemption, options.evict_failed_gangs) == (False, True, True)
    assert (options.gang_seconds, options.refresh_seconds) == (600.0, math.inf)
    assert WeightedModel(load_model("trivial", {})).weight == 1
    assert CoreConfiguration().policy.model.name == "cpu_mem"


def test_shares_of_namespaces():
    shares = FairShare({"a": 2.0})
    assert (shares.weight("a"), shares.weight("b")) == (2.0, 1.0)
    assert FairShare(default_weight=3.0).weight("a") == 3.0


def test_the_models_of_a_configuration():
    policy, overlay, scarce = (WeightedModel(load_model(name, {})) for name in ("trivial", "net", "random"))
    plain = CoreConfiguration(policy=policy, overlays=(overlay,))
    assert plain.models == (policy, overlay)
    assert replace(plain, scarce=scarce).models == (policy, overlay, scarce)
    assert (plain.pair_models, plain.constraining_models, plain.group_model) == ((), (), None)
    assert "networkRequirement" in plain.needs.labels
    assert "namespaces" not in plain.words
    assert "namespaces" in replace(plain, fair_share=FairShare()).words
    outer = CoreConfiguration(policy=policy, profiles={"other": plain})
    assert "profiles:other" in outer.words
    assert "networkRequirement" not in outer.needs.labels
    assert "networkRequirement" in outer.all_needs.labels
    assert policy.model.name == "trivial"

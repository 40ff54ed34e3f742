"""The inputs and answers of cost models: figures in points, reasons, limits, and columns of chosen machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.api.arrays import Layout, any_of_row, layout_faults
from cost_models.interface import (
    Assessment,
    DeviceColumns,
    DeviceDemand,
    JointRows,
    MachineColumns,
    Range,
    Residents,
    Returned,
    ShapeBatch,
    ShapeRow,
    SparseArcs,
)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Range(0.0, 10.0), [0.0, 0.0, 50.0, 100.0, 100.0]),
        (Range(0.0, 10.0, bounded=False), [0.0, 0.0, 50.0, 100.0, 200.0]),
        (Range(10.0, 0.0), [100.0, 100.0, 50.0, 0.0, 0.0]),
        (Range(5.0, 10.0), [0.0, 0.0, 0.0, 100.0, 100.0]),
    ],
)
def test_figures_become_points(span: Range, expected: list[float]):
    raw = np.array([-5.0, 0.0, 5.0, 10.0, 20.0])
    assert span.points(raw).tolist() == expected
    out = np.empty(5)
    assert span.points(raw, out) is out
    assert out.tolist() == expected


def test_points_per_unit_are_positive():
    assert Range(0.0, 10.0).points_per_unit() == Range(10.0, 0.0).points_per_unit() == 10.0


def test_flags_along_rows():
    flags = np.array([[False, False], [False, True], [True, True]])
    assert any_of_row(flags).tolist() == [False, True, True]


# --- answers ---------------------------------------------------------------------------------------------------------


def test_refusals_by_one_reason_or_by_causes():
    raw = np.zeros((2, 3))
    assert list(Assessment(raw).refusals(0)) == []
    feasible = np.array([[True, True, True], [False, True, False]])
    ((words, refused),) = Assessment(raw, feasible, "full").refusals(1)
    assert (words, refused.tolist()) == ("full", [True, False, True])
    causes = np.array([[0, 0, 0], [1, 0, 0]], dtype=np.int16)
    answer = Assessment(raw, feasible, "unused", causes=causes, reasons=("near", "far"))
    assert [(words, refused.tolist()) for words, refused in answer.refusals(1)] == [
        ("near", [False, False, True]),
        ("far", [True, False, False]),
    ]
    assert list(answer.refusals(0)) == []


ROWS = JointRows(ints(0), ints(1), ints(1), "full")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, True),
        ({"feasible": np.ones((1, 2), np.bool_), "score": np.zeros((1, 2)), "reason": "r"}, True),
        ({"causes": np.zeros((1, 2), np.int16), "reasons": ("r",), "notes": ("n",)}, True),
        ({"joint": (ROWS,)}, False),
        ({"growth": np.zeros(2)}, False),
        ({"sparse": SparseArcs(ints(), ints(), np.empty(0))}, False),
        ({"occupied": np.zeros((1, 2), np.bool_)}, False),
    ],
)
def test_answers_that_are_by_machine(more: dict[str, Any], expected: bool):
    assert Assessment(np.zeros((1, 2)), **more).is_by_machine(2) is expected
    assert not Assessment(np.zeros((1, 1)), **more).is_by_machine(2)


@pytest.mark.parametrize(
    ("row_of", "shared"),
    [([0, 1, 2], False), ([0, 0, 1], True), ([-1, -1, 0], False), ([-1, 1, 1], True), ([], False)],
)
def test_rows_that_machines_share(row_of: list[int], shared: bool):
    assert replace(ROWS, row_of=ints(*row_of)).shared is shared


def test_rows_hold_shapes_that_take_something_or_may_be_barred():
    rows = replace(ROWS, amount=ints(0, 1, 0))
    assert rows.holds().tolist() == [False, True, False]
    assert replace(rows, returned=Returned(ints(0))).holds().tolist() == [False, True, False]
    barred = Returned(ints(0), barred=np.array([False, False, True]))
    assert replace(rows, returned=barred).holds().tolist() == [False, True, True]


# --- saved arrays ----------------------------------------------------------------------------------------------------


def faults(array: Any, layout: Layout, **sizes: int) -> list[str]:
    return list(layout_faults([("a", np.array(array), layout)], sizes))


@pytest.mark.parametrize(
    ("array", "layout", "expected"),
    [
        ([1, 2], Layout("N"), []),
        ([[1, 2]], Layout("N"), ["a has the size (1, 2), not 1 dimensions"]),
        ([1, 2, 3], Layout("M"), ["a has the size (3,), not (2,)"]),
        ([[1], [2]], Layout("M*"), []),
        ([0, 4], Layout("N", 0, 5), []),
        ([0, 5], Layout("N", 0, 5), ["a holds numbers out of range"]),
        ([-1, 0], Layout("N", 0, 5), ["a holds numbers out of range"]),
        ([-1, 1], Layout("N", -1, "M"), []),
        ([-1, 2], Layout("N", -1, "M"), ["a holds numbers out of range"]),
        ([-1, 9], Layout("N", -1), []),
        ([0.0, np.inf], Layout("N", 0), ["a holds numbers that are negative or not finite"]),
        ([-0.5], Layout("N", 0), ["a holds numbers that are negative or not finite"]),
        ([-2.0], Layout("N", -1), ["a holds numbers that are not finite"]),
        ([np.nan], Layout("N"), []),
    ],
)
def test_layouts_of_arrays(array: Any, layout: Layout, expected: list[str]):
    assert faults(array, layout, M=2) == expected


def test_lengths_of_one_letter_are_equal():
    given = [("a", ints(1, 2), Layout("N")), ("b", ints(1), Layout("N"))]
    assert list(layout_faults(given, {})) == ["b has the size (1,), not (2,)"]


# --- columns ---------------------------------------------------------------------------------------------------------


def columns(**more: Any) -> MachineColumns:
    """Three machines with two resources."""
    given: dict[str, Any] = {
        "names": ("a", "b", "c"),
        "resources": ("cpu", "gpu"),
        "capacity": np.array([[10, 1], [20, 2], [30, 3]]),
        "free": np.array([[1, 0], [2, 1], [3, 2]]),
        "running": ints(4, 5, 6),
        "labels": ({"z": "1"}, {"z": "2"}, {}),
        "annotations": ({}, {"k": "v"}, {}),
        "usage": np.array([[0.5, 0.0], [np.nan, np.nan], [1.5, 0.0]]),
        "usage_time": np.array([1.0, np.nan, 3.0]),
        "records": {},
        "now": 7.0,
    }
    return MachineColumns(**{**given, **more})


def test_columns_of_resources():
    made = columns(unstated=np.array([[0, 0], [5, 0], [0, 0]]))
    assert (made.count, made.column("gpu"), made.column("cpu"), made.column("x")) == (3, 1, 0, None)
    assert made.get_requested(0).tolist() == [9, 23, 27]
    assert replace(made, unstated=None).get_requested(0).tolist() == [9, 18, 27]
    assert made.get_requested(1).tolist() == [1, 1, 1]


def test_chosen_machines_are_renumbered():
    residents = Residents(
        ints(0, 0, 1, 2),
        ints(0, 1, 1, 0),
        ints(3, 4, 5, 6),
        (ShapeRow(), ShapeRow()),
        np.zeros((2, 2), np.int64),
    )
    devices = DeviceColumns(ints(-1, 0, 1), np.array([[0.0], [0.5], [1.0]]), ints(0, 1, 1))
    made = columns(
        residents=residents,
        devices=devices,
        unseen=np.arange(6).reshape(3, 2),
        load=object(),
        arrivals=object(),
    )
    some = made.select(ints(0, 2))
    assert (list(some.names), some.count) == (["a", "c"], 2)
    assert [dict(each) for each in some.labels] == [{"z": "1"}, {}]
    assert [dict(each) for each in some.annotations] == [{}, {}]
    assert some.capacity.tolist() == [[10, 1], [30, 3]]
    assert some.free.tolist() == [[1, 0], [3, 2]]
    assert some.running.tolist() == [4, 6]
    assert some.usage.tolist() == [[0.5, 0.0], [1.5, 0.0]]
    assert some.usage_time.tolist() == [1.0, 3.0]
    assert (some.load, some.arrivals, some.unstated, some.now) == (None, None, None, 7.0)
    assert some.unseen is not None
    assert some.unseen.tolist() == [[0, 1], [4, 5]]
    assert some.residents is not None
    found = some.residents
    assert list(zip(found.machine.tolist(), found.kind.tolist(), found.count.tolist(), strict=True)) == [
        (0, 0, 3),
        (0, 1, 4),
        (1, 0, 6),
    ]
    assert some.devices is not None
    assert (some.devices.kind.tolist(), some.devices.count.tolist()) == ([-1, 1], [0, 1])
    bare = columns().select(ints(1))
    assert (bare.residents, bare.devices, bare.unseen) == (None, None, None)


def test_chosen_entries_are_a_sequence():
    names: Sequence[str] = columns().select(ints(2, 0)).names
    assert (names[0], names[-1], len(names), list(names), list(names[1:])) == ("c", "a", 2, ["c", "a"], ["a"])


def test_residents_are_summed_by_machine():
    residents = Residents(
        ints(0, 2, 2), ints(1, 0, 1), ints(2, 3, 1), (ShapeRow(), ShapeRow()), np.zeros((2, 2), np.int64)
    )
    assert residents.sum_by_machine(np.array([10.0, 1.0]), 4).tolist() == [2.0, 0.0, 31.0, 0.0]


def batch(**more: Any) -> ShapeBatch:
    given: dict[str, Any] = {
        "requests": np.array([[1, 0], [3, 1], [5, 2]]),
        "counts": ints(1, 3, 0),
        "rows": (ShapeRow(qos="a"), ShapeRow(qos="b"), ShapeRow(qos="c")),
    }
    return ShapeBatch(**{**given, **more})


def test_means_are_over_waiting_tasks():
    made = batch()
    assert made.count == 3
    assert made.mean(made.requests).tolist() == [2.5, 0.75]
    assert replace(made, counts=ints(0, 0, 0)).mean(made.requests).tolist() == [0.0, 0.0]
    assert made.demand is made.requests
    assert batch(unstated=np.array([[0, 1]] * 3)).demand.tolist() == [[1, 1], [3, 2], [5, 3]]


def test_chosen_shapes():
    rows = [np.array([True, False, True]), np.array([False, True, True]), np.array([True] * 3)]
    typical = batch(allowed=rows)
    demand = DeviceDemand(np.array([[0], [1], [2]]), np.array([[0.0], [0.5], [1.0]]))
    made = batch(allowed=rows, unstated=np.arange(6).reshape(3, 2), devices=demand, typical=typical)
    some = made.select(ints(2, 0))
    assert some.requests.tolist() == [[5, 2], [1, 0]]
    assert some.counts.tolist() == [0, 1]
    assert [each.qos for each in some.rows] == ["c", "a"]
    assert some.allowed is not None
    assert [each.tolist() for each in some.allowed] == [[True] * 3, [True, False, True]]
    assert some.unstated is not None
    assert some.unstated.tolist() == [[4, 5], [0, 1]]
    assert some.devices is not None
    assert some.devices.count.tolist() == [[2], [0]]
    assert some.typical is typical
    few = made.select(ints(1), ints(0, 1))
    assert few.allowed is not None
    assert [each.tolist() for each in few.allowed] == [[False, True]]
    assert few.typical is not None
    assert few.typical.count == 3
    assert few.typical.allowed is not None
    assert [each.tolist() for each in few.typical.allowed] == [[True, False], [False, True], [True, True]]
    bare = batch().select(ints(1))
    assert (bare.allowed, bare.unstated, bare.devices, bare.typical) == (None, None, None, None)

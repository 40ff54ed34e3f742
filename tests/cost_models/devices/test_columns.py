"""Devices that drivers publish and that nodes state, as one table; and what is usable of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.devices.columns import DRIVERS, RESOURCES, make_device_view, read_names
from cost_models.devices.gpu_packing import GpuPacking
from cost_models.devices.usable_shares import (
    Room,
    UsualTasks,
    expect_usable,
    find_fitting,
    sum_usable,
    take_best_fit,
)
from cost_models.interface import (
    DeviceColumns,
    DeviceDemand,
    MachineColumns,
    ModelArgumentError,
    ShapeBatch,
    ShapeRow,
)

GPU, AMD = RESOURCES[:2]


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def columns(**more: Any) -> MachineColumns:
    """Four machines: one without devices, two that state some, and one whose driver publishes them."""
    given: dict[str, Any] = {
        "names": ("none", "two", "many", "published"),
        "resources": ("cpu", GPU, AMD),
        "capacity": np.array([[8, 0, 0], [8, 2, 3], [8, 100, 0], [8, 5, 0]]),
        "free": np.array([[4, 0, 0], [5, 1, 3], [6, 90, 0], [7, 5, 0]]),
        "running": ints(0, 0, 0, 0),
        "labels": ({},) * 4,
        "annotations": ({},) * 4,
        "usage": np.zeros((4, 3)),
        "usage_time": np.zeros(4),
        "records": {},
        "now": 0.0,
        "devices": DeviceColumns(
            ints(-1, -1, -1, 0), np.array([[0.0, 0.0]] * 3 + [[1.0, 0.25]]), ints(0, 0, 0, 2)
        ),
    }
    return MachineColumns(**{**given, **more})


def test_names_may_be_configured():
    assert read_names("m", {}) == (DRIVERS, RESOURCES)
    assert read_names("m", {"drivers": ["d"], "resources": ["r"]}) == (("d",), ("r",))
    with pytest.raises(ModelArgumentError, match="unknown argument 'driver'"):
        read_names("m", {"driver": ["d"]})


def test_published_devices_come_first_then_the_first_stated_resource():
    view = make_device_view(columns(), RESOURCES)
    assert view.rows.tolist() == [1, 2, 3]
    assert view.published == 1
    assert view.room.kind.tolist() == [1, 1, 0]
    assert view.size.tolist() == [2, 64, 2]
    assert (view.columns, view.resources) == ((0,), (1, 2))
    assert view.room.amounts.tolist() == [[5], [6], [7]]
    assert view.room.shares.shape == (3, 64)
    assert view.room.shares[0].tolist() == [0.0] * 63 + [1.0]
    assert view.room.shares[1].tolist() == [1.0] * 64
    assert view.room.shares[2].tolist() == [0.0] * 62 + [0.25, 1.0]


def test_without_published_devices_only_stated_ones_count():
    view = make_device_view(columns(devices=None), (AMD,))
    assert (view.rows.tolist(), view.published, view.resources, view.columns) == ([1], 0, (2,), (0, 1))
    assert view.room.shares.tolist() == [[1.0, 1.0, 1.0]]
    empty = make_device_view(columns(devices=None), ("x",))
    assert (len(empty.rows), empty.room.shares.shape, empty.columns) == (0, (0, 1), (0, 1, 2))


def shapes(*requests: list[int], **more: Any) -> ShapeBatch:
    given: dict[str, Any] = {"counts": ints(*[1] * len(requests)), "rows": (ShapeRow(),) * len(requests)}
    return ShapeBatch(np.array(requests), **{**given, **more})


def test_tasks_take_devices_of_the_kinds_that_serve_them():
    view = make_device_view(columns(), RESOURCES)
    demand = DeviceDemand(np.array([[0, 9], [1, 9], [0, 9]]), np.array([[0.0, 1.0], [0.5, 1.0], [0.0, 1.0]]))
    count, share = view.find_demand(shapes([1, 0, 0], [1, 0, 0], [1, 2, 0], devices=demand))
    assert count.tolist() == [[0, 0, 0], [1, 1, 1], [1, 2, 1]]
    assert share.tolist() == [[0.0, 0.0, 0.0], [0.5, np.inf, np.inf], [np.inf, 1.0, np.inf]]


def test_usual_tasks_are_those_that_there_are_most_of():
    view = make_device_view(columns(), RESOURCES)
    allowed = [np.array([True, False, True, True]), np.array([True, True, True, False])]
    usual = view.describe_usual(shapes([1, 0, 0], [3, 1, 0], counts=ints(3, 1), allowed=allowed))
    assert usual.popularity.tolist() == [0.75, 0.25]
    assert usual.requests.tolist() == [[1], [3]]
    assert usual.allowed.tolist() == [[False, True, True], [True, True, False]]
    nobody = view.describe_usual(shapes([1, 0, 0], counts=ints(0)))
    assert nobody.popularity.tolist() == [0.0]
    assert nobody.allowed.all()


def test_packing_charges_for_free_devices():
    answer = GpuPacking().assess(columns(), shapes([1, 0, 0], [1, 1, 0]))
    assert answer.raw.tolist() == [[0.0, 1.0, 64.0, 1.25]] * 2


# --- usable shares ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "share", "left", "there"),
    [
        (1, 0.5, [0.0, 0.25, 1.0], True),  # the one with the least that is enough
        (1, 0.6, [0.25, 0.4, 0.5], True),
        (2, 0.5, [0.0, 0.25, 0.5], True),
        (2, 0.6, [0.25, 0.5, 1.0], False),
        (3, 0.25, [0.0, 0.25, 0.75], True),
        (4, 0.1, [0.25, 0.5, 1.0], False),
    ],
)
def test_the_best_fitting_devices_are_taken(count: int, share: float, left: list[float], there: bool):
    found, exists = take_best_fit(np.array([[0.25, 0.5, 1.0]]), count, share)
    assert found[0] == pytest.approx(left)
    assert exists.tolist() == [there]


def usual(**more: Any) -> UsualTasks:
    given: dict[str, Any] = {
        "popularity": np.array([0.75, 0.25]),
        "requests": np.array([[2], [0]]),
        "count": np.array([[1], [2]]),
        "share": np.array([[0.5], [1.0]]),
        "allowed": np.ones((2, 2), dtype=np.bool_),
    }
    return UsualTasks(**{**given, **more})


ROOM = Room(np.array([[2], [1]]), ints(0, 0), np.array([[0.25, 0.5, 1.0], [0.0, 1.0, 1.0]]))


def test_what_tasks_could_use_of_devices():
    assert sum_usable(ROOM, usual()).tolist() == [[1.5, 2.0], [0.0, 2.0]]
    assert sum_usable(ROOM, usual(count=np.array([[0], [2]]))).tolist() == [[0.0, 0.0], [0.0, 2.0]]
    assert sum_usable(ROOM, usual(share=np.array([[np.inf], [1.0]])))[0].tolist() == [0.0, 0.0]


def test_tasks_fit_by_amounts_and_rules():
    assert find_fitting(ROOM.amounts, usual()).tolist() == [[True, False], [True, True]]
    closed = np.array([[True, True], [False, True]])
    assert find_fitting(ROOM.amounts, usual(allowed=closed)).tolist() == [[True, False], [False, True]]


def test_the_expected_usable_share():
    assert expect_usable(ROOM, usual()).tolist() == [0.75 * 1.5, 0.25 * 2.0]
    assert expect_usable(replace(ROOM, kind=ints(0, 0)), usual(popularity=np.zeros(2))).tolist() == [0.0, 0.0]

"""The largest room that victims can free for tasks: a bound that is never too small, and that machines cap."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from firmament.core.preemption.quotas.bounds import RoomBound


def bound(
    room: list[list[int]], request: list[int], count: int, victims: list[tuple[int, list[int]]]
) -> RoomBound:
    """Of one class that heeds all columns, and victims: machine and what each gives back."""
    machines = len(room)
    state = SimpleNamespace(
        problem=SimpleNamespace(
            shape=np.zeros(1, dtype=np.int64),
            feasible=np.ones((1, machines), dtype=np.bool_),
            limit_to_pins=lambda _, usable: usable,
        ),
        preemption=SimpleNamespace(
            occupied=None, machine=np.array([at for at, _ in victims], dtype=np.int64)
        ),
        heeds=lambda _: np.ones(len(request), dtype=np.bool_),
        request=lambda _: np.array(request, dtype=np.int64),
        room=np.array(room, dtype=np.int64),
        sizes=np.array([size for _, size in victims], dtype=np.int64).reshape(-1, len(request)),
    )
    return RoomBound(state, [(0, count)])  # type: ignore[arg-type]  # as much of it as is read


@pytest.mark.parametrize(
    ("room", "enough"),
    [
        ([[2, 0]], True),
        ([[2, -1]], False),
        ([[1, 0]], False),
        ([[1, 0], [1, 0]], True),
        ([[-3, 0], [1, 0]], False),
        ([[1, -1], [1, 0]], False),
    ],
)
def test_where_nothing_is_asked_for_nothing_may_be_lacking_and_nothing_has_to_be_left(
    room: list[list[int]], enough: bool
):
    assert bound(room, [1, 0], 2, []).is_enough() is enough


def test_victims_give_back_what_they_hold_where_they_are():
    found = bound([[0, -1], [1, 0]], [1, 0], 2, [(0, [1, 0]), (0, [0, 1])])
    found.let_go([0])
    assert not found.is_enough()
    found.let_go([1])
    assert found.is_enough()

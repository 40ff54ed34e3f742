"""Placements as columns read as what they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.commit.placements import PlacementDeltas
from firmament.core.results import Delta, DeltaKind

UIDS, MACHINES = ["a", "b", "c"], ["m", "n", "m"]
DELTAS = (
    Delta(DeltaKind.PLACE, "a", "m"),
    Delta(DeltaKind.PLACE, "b", "n", depends_on=("a",)),
    Delta(DeltaKind.PLACE, "c", "m"),
)
PLACEMENTS = PlacementDeltas(UIDS, MACHINES, {1: ("a",)})


def test_they_are_a_sequence_of_deltas():
    assert len(PLACEMENTS) == 3
    assert tuple(PLACEMENTS) == DELTAS
    assert all(type(each) is Delta for each in PLACEMENTS)
    assert not PlacementDeltas((), ())


@given(st.integers(-4, 3))
def test_places(index):
    if -3 <= index < 3:
        assert PLACEMENTS[index] == DELTAS[index]
    else:
        with pytest.raises(IndexError):
            PLACEMENTS[index]


@given(st.slices(3))
def test_slices(part):
    assert PLACEMENTS[part] == DELTAS[part]


def test_they_equal_any_sequence_of_the_same():
    assert PLACEMENTS == DELTAS
    assert DELTAS == PLACEMENTS
    assert PlacementDeltas(tuple(UIDS), MACHINES, {1: ("a",)}) == PLACEMENTS
    assert PlacementDeltas(UIDS, MACHINES) != PLACEMENTS
    assert DELTAS[:2] != PLACEMENTS
    assert PLACEMENTS != 3
    assert PlacementDeltas((), ()) == ()

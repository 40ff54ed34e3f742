"""The choice of starting columns, piece by piece, against loops that say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.flow.columns import cheapest_machines, systematic_sample
from firmament.flow.equilibrium import UNWANTED


def one_by_one(key: list[int], machines: list[int], want: int, begin: int) -> set[int]:
    """The cheapest machines of one class, by sorting."""
    usable = [(cost, machine) for cost, machine in zip(key, machines, strict=True) if cost < UNWANTED]
    ranked = sorted(cost for cost, _ in usable)
    if want >= len(ranked):
        return {machine for _, machine in usable}
    limit = ranked[want]
    chosen = {machine for cost, machine in usable if cost <= limit}
    if len(chosen) <= want + want // 4 + 1:
        return chosen
    below = {machine for cost, machine in usable if cost < limit}
    tied = [machine for cost, machine in usable if cost == limit]
    turned = [machine for machine in tied if machine >= begin] + [m for m in tied if m < begin]
    return below | set(turned[: want - len(below)])


@given(st.data())
def test_the_cheapest_machines_of_many_classes_are_those_of_each(data: st.DataObject):
    width = data.draw(st.integers(1, 12))
    classes = data.draw(st.integers(1, 4))
    value = st.one_of(st.integers(0, 3), st.just(UNWANTED))
    key = [data.draw(st.lists(value, min_size=width, max_size=width)) for _ in range(classes)]
    machines = sorted(data.draw(st.sets(st.integers(0, 30), min_size=width, max_size=width)))
    want = data.draw(st.lists(st.integers(0, 9), min_size=classes, max_size=classes))
    begin = data.draw(st.lists(st.integers(0, 30), min_size=classes, max_size=classes))
    row, machine = cheapest_machines(
        np.array(key, dtype=np.int32), np.array(machines), np.array(want), np.array(begin)
    )
    for cls in range(classes):
        found = machine[row == cls].tolist()
        assert len(found) == len(set(found))
        assert set(found) == one_by_one(key[cls], machines, want[cls], begin[cls])


@pytest.mark.parametrize("rate", [0.5, 1.0, 3.0])
def test_places_are_drawn_in_proportion_to_their_weight(rate: float):
    weight = np.random.default_rng(5).random((7, 11)).astype(np.float32) * 4
    line, place = systematic_sample(np.cumsum(weight, axis=1), rate)
    points = np.arange(0.5 / rate, float(weight.sum()), 1.0 / rate)
    expected = np.unique(np.searchsorted(np.cumsum(weight.ravel().astype(np.float64)), points))
    assert (line * 11 + place).tolist() == expected.tolist()


def test_lines_without_weight_are_never_drawn():
    line, place = systematic_sample(np.array([[0, 0], [0, 2], [0, 0], [1, 1]], dtype=np.float32), 1.0)
    assert set(zip(line.tolist(), place.tolist(), strict=True)) == {(1, 1), (3, 0)}

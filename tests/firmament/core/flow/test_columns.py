"""The choice of starting columns, piece by piece, against loops that say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.flow.network.arc_columns import UnpinnedArcs, choose_first_columns, find_cheapest
from firmament.core.flow.price_estimate.equilibrium import UNWANTED, PriceEstimate, estimate_prices
from firmament.core.flow.price_estimate.sampling import FlowSample, systematic_sample
from firmament.core.flow.residual import Residual
from tests.support.core import problem
from tests.support.tuning import FLOW, PRICES


def one_by_one(key: list[int], want: int, begin: int) -> set[int]:
    """The cheapest machines of one class, by sorting."""
    usable = [(cost, machine) for machine, cost in enumerate(key) if cost < UNWANTED]
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
    want = data.draw(st.lists(st.integers(0, 9), min_size=classes, max_size=classes))
    begin = data.draw(st.lists(st.integers(0, width), min_size=classes, max_size=classes))
    row, place = find_cheapest(
        np.array(key, dtype=np.int32), np.array(want), np.array(begin), looked_at=FLOW.columns.looked_at
    )
    for cls in range(classes):
        assert set(place[row == cls].tolist()) == one_by_one(key[cls], want[cls], begin[cls])
    assert sorted(set(zip(row, place, strict=True))) == list(zip(row, place, strict=True))


@pytest.mark.parametrize("kinds", [1, 7, 100_000])
def test_among_many_machines_about_as_many_as_wanted_are_chosen_and_none_dearer_than_others(kinds: int):
    random = np.random.default_rng(kinds)
    key = random.integers(0, kinds, (5, 4 * FLOW.columns.looked_at)).astype(np.int32)
    key[:, random.permutation(key.shape[1])[:300]] = UNWANTED
    want = np.array([60, 100, 300, 600, 1_000])
    chosen = np.zeros(key.shape, dtype=np.bool_)
    chosen[
        find_cheapest(key, want, np.array([0, 1, 500, 2_000, key.shape[1]]), looked_at=FLOW.columns.looked_at)
    ] = True
    for row, wanted in zip(range(len(key)), want.tolist(), strict=True):
        assert 0.4 * wanted < chosen[row].sum() < 2 * wanted
        dearest = key[row][chosen[row]].max()
        assert dearest < UNWANTED
        assert chosen[row][key[row] < dearest].all()


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_pairs_are_drawn_in_proportion_to_their_weight_by_class_and_by_machine(scale: float):
    weight = (np.random.default_rng(5).random((9, 400)) ** 4 * scale).astype(np.float32)
    weight[4] = 0
    weight[:, 17] = 0
    drawn = systematic_sample(weight)
    assert not drawn[weight == 0].any()
    # A weight below 1 holds at most one mark of each grid, one of 1 or more at least one.
    assert drawn[weight > 1.001].all()
    small = weight < 1
    marks = np.where(small, weight, 0).sum()
    # Both grids may meet in one pair; those side by side rarely do.
    assert 0.6 * 2 * marks < drawn[small].sum() <= 2 * marks + len(weight) + weight.shape[1]


def test_every_machine_with_enough_weight_is_met():
    drawn = systematic_sample(np.full((40, 300), 2 / 40, dtype=np.float32))
    assert (drawn.sum(axis=0) >= 2).all()
    assert (drawn.sum(axis=1) >= 14).all()


def estimate_over(machines: int) -> PriceEstimate:
    """Machines in a row that are all likely to take a task."""
    nothing = np.zeros(machines, dtype=np.int64)
    return PriceEstimate(nothing, nothing, np.arange(machines), 10.0, np.ones(machines, dtype=np.float32))


def sampled(key: np.ndarray, draws: np.ndarray, pieces: int = 1) -> np.ndarray:
    """bool[C', M']: what is drawn if classes come in so many pieces."""
    sample = FlowSample(estimate_over(key.shape[1]), draws, pairs_per_draw=FLOW.columns.pairs_per_draw)
    for at in np.array_split(np.arange(len(key)), pieces):
        sample.set_keys(at, key[at])
    drawn = np.zeros(key.shape, dtype=np.bool_)
    drawn[sample.draw()] = True
    return drawn


@pytest.mark.parametrize("parts", [1, 4])
def test_a_sample_follows_the_flow_that_is_expected(parts: int):
    classes, machines = 60, 40 * FLOW.columns.pairs_per_draw * parts // 60
    draws = np.full(classes, 40 / 60)
    draws[0] = 5
    key = np.random.default_rng(7).integers(0, 100, (classes, machines)).astype(np.int32)
    key[1], key[2:, :4] = UNWANTED, UNWANTED
    drawn = sampled(key, draws)
    assert not drawn[key == UNWANTED].any()
    assert 0.6 * 2 * draws.sum() < drawn.sum() < 1.4 * 2 * draws.sum()
    assert 5 <= drawn[0].sum() <= 20
    # What costs five temperatures more than the least is as good as never drawn.
    assert (key[drawn] < 60).all()
    assert np.median(key[drawn]) < 15


@pytest.mark.parametrize("parts", [1, 4])
def test_what_is_drawn_does_not_depend_on_how_classes_are_divided_up(parts: int):
    key = np.random.default_rng(3).integers(0, 40, (50, FLOW.columns.pairs_per_draw * parts)).astype(np.int32)
    whole = sampled(key, np.ones(50))
    assert whole.any()
    assert (sampled(key, np.ones(50), pieces=3) == whole).all()


def test_of_many_machines_each_is_looked_at_by_some_class():
    key = np.zeros((400, 8 * FLOW.columns.pairs_per_draw), dtype=np.int32)
    drawn = sampled(key, np.full(400, 3.0))
    assert (drawn.sum(axis=0) >= 2).all()
    assert (drawn.sum(axis=1) >= 3).all()


def test_no_machine_depends_on_one_class_alone_if_others_would_use_it():
    random = np.random.default_rng(5)
    classes, machines = 12, 400
    feasible = random.random((classes, machines)) < 0.8
    feasible[3] = False
    given = problem(
        tasks=[20] * classes,
        requests=[[1]] * classes,
        free=[[4]] * machines,
        feasible=feasible.tolist(),
        cost=(random.integers(0, 60, machines) + random.integers(0, 30, (classes, machines))).tolist(),
        crowd=random.integers(80, 160, machines).tolist(),
    )
    residual = Residual(given)
    fits = {shape: residual.find_fitting(shape) for shape in range(classes)}
    estimate = estimate_prices(residual, fits, tuning=PRICES)
    unpinned = UnpinnedArcs(residual, fits, estimate.candidates)
    columns = choose_first_columns(
        residual, unpinned, estimate, base=2, samples=0.1, samples_each=0.0, tuning=FLOW.columns
    )
    assert len(columns) < 0.3 * classes * len(estimate.candidates)
    assert feasible[columns.cls, columns.machine].all()
    present = np.zeros((classes, machines), dtype=np.bool_)
    present[columns.cls, columns.machine] = True
    able = feasible.sum(axis=0)
    used = np.flatnonzero(present.any(axis=0))
    assert len(used) > 50
    assert (present.sum(axis=0) >= np.minimum(FLOW.columns.fewest, able))[used].all()
    # One that is used by so few has them of those to which it is least dear in comparison with what they like best.
    key = np.where(feasible, given.cost + estimate.price, UNWANTED)
    dearer = key - key[:, estimate.candidates].min(axis=1, keepdims=True)
    alone = choose_first_columns(
        residual, unpinned, estimate, base=2, samples=0.0, samples_each=0.0, tuning=FLOW.columns
    )
    before = np.bincount(alone.machine, minlength=machines)
    thin = np.flatnonzero(
        (before > 0) & (present.sum(axis=0) == FLOW.columns.fewest) & (able > FLOW.columns.fewest)
    )
    assert len(thin) > 10
    dearer = np.where(feasible, dearer, UNWANTED)
    rank = np.argsort(np.argsort(dearer, axis=0, kind="stable"), axis=0)
    assert np.where(present, rank, classes)[:, thin].min(axis=0).max() == 0

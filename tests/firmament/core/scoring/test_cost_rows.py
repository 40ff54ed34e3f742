"""Costs on arcs are the sum over models, however their figures are shaped and typed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Range,
    ShapeBatch,
    ShapeRow,
)
from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.arc_costs import WORTH_LINES, Lines, compute_charges
from firmament.core.scoring.round_assessment import LARGEST_COST, RoundAssessment
from tests.cost_models.numa.builders import columns

SHAPES, MACHINES = 3, 6


class Ranged(BaseModel):
    """A model of which only the range matters here."""

    name = "ranged"

    def __init__(self, worst: float, *, bounded: bool = True) -> None:
        self.range = Range(best=0, worst=worst, bounded=bounded)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        raise NotImplementedError(f"{machines.count} machines and {shapes.count} shapes are not looked at")

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        raise NotImplementedError(f"{machines.count} machines are not looked at, nor {request}")


def cost_rows(assessed, models):
    return compute_charges(assessed, models, None).units


def summed(models, figures):
    """The same figure by figure."""
    units = np.zeros((SHAPES, MACHINES))
    for weighted, raw in zip(models, figures, strict=True):
        for shape in range(SHAPES):
            for machine in range(MACHINES):
                each = float(raw[shape, machine if raw.shape[1] > 1 else 0])
                points = max(0.0, each * 100.0 / weighted.model.range.worst)
                points = min(points, 100.0) if weighted.model.range.bounded else points
                units[shape, machine] += points * weighted.weight * COST_UNITS_PER_POINT
    return np.rint(units)


@pytest.mark.parametrize("first", [np.int16, np.float64])
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("others", [(), ("same",), ("same", "same"), ("different",), ("same", "different")])
def test_the_sum_over_models(first, bounded, others):
    rng = np.random.default_rng(1)
    figures = [rng.integers(0, 70, size=(SHAPES, MACHINES)).astype(first)]
    figures += [rng.random((SHAPES, 1 if other == "same" else MACHINES)) * 60 - 5 for other in others]
    models = [WeightedModel(Ranged(64), 1)]
    models += [WeightedModel(Ranged(37, bounded=bounded), weight) for weight in range(2, 2 + len(others))]
    assert (cost_rows(judged(figures), models) == summed(models, figures)).all()


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("values", [2, 30])
@pytest.mark.parametrize("constants", [(), (3.25,), (0.5, 1.5, 2.5)])
def test_the_sum_over_models_of_short_whole_figures(values, bounded, constants):
    rng = np.random.default_rng(values)
    figures = [
        rng.integers(-values, values, size=(SHAPES, MACHINES)).astype(np.int16),
        rng.integers(60 - values, 60, size=(SHAPES, MACHINES)).astype(np.int16),
        rng.choice(constants or (0.0,), size=(SHAPES, 1)),
    ]
    models = [WeightedModel(Ranged(worst, bounded=bounded), worst % 5) for worst in (7, 53, 64)]
    assert (cost_rows(judged(figures), models) == summed(models, figures)).all()


@given(st.data())
def test_short_whole_figures_cost_what_they_cost_as_fractions(data):
    """Whether or not they come to straight lines, and however near to a half sums are."""
    worst = st.sampled_from([1, 3, 16, 64, 100, 1250, 20_000])
    figures, models = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        low, span = data.draw(st.integers(-300, 300)), data.draw(st.integers(0, 200))
        seed = data.draw(st.integers(0, 9))
        drawn = np.random.default_rng(seed).integers(low, low + span + 1, size=(SHAPES, MACHINES))
        figures.append(drawn.astype(np.int16))
        model = Ranged(data.draw(worst), bounded=data.draw(st.booleans()))
        models.append(WeightedModel(model, data.draw(st.integers(1, 1000))))
    constants = st.lists(st.sampled_from([0.0, 0.005, 0.25, 0.375, 7.0]), min_size=SHAPES, max_size=SHAPES)
    constant = np.array(data.draw(constants)).reshape(-1, 1)
    models.append(WeightedModel(Ranged(100.0), 1))
    exact = cost_rows(judged([*(each.astype(np.float64) for each in figures), constant]), models)
    assert (cost_rows(judged([*figures, constant]), models) == exact).all()
    varying = list(zip(models, figures, strict=False))
    lines = Lines.from_figures(varying, constant[:, 0] * COST_UNITS_PER_POINT)
    if lines is not None:
        units = np.empty((SHAPES, MACHINES), dtype=np.int32)
        lines.fill(varying, units)
        assert (units == exact).all()


def test_many_figures_cost_what_few_do():
    few = [np.arange(MACHINES, dtype=np.int16)[None, :].repeat(SHAPES, axis=0) * step for step in (3, 7)]
    models = [WeightedModel(Ranged(1250), 1), WeightedModel(Ranged(100), 10)]
    times = WORTH_LINES // (SHAPES * MACHINES) + 1
    many = cost_rows(judged([np.tile(each, times) for each in few]), models)
    assert many.size >= WORTH_LINES
    assert (many == np.tile(cost_rows(judged(few), models), times)).all()


@pytest.mark.parametrize("constants", [[0.0, 0.0, 0.0], [0.25, 3.0, 7.75]])
def test_figures_of_the_default_models_come_to_lines(constants):
    """The default policy's and scores: nothing is looked up or rounded for each pair."""
    steps = np.arange(MACHINES, dtype=np.int16)[None, :].repeat(SHAPES, axis=0)
    models = [WeightedModel(Ranged(1250), 1), WeightedModel(Ranged(100), 10)]
    varying = list(zip(models, (210 * steps, 20 * steps), strict=True))
    lines = Lines.from_figures(varying, np.array(constants))
    assert lines is not None
    assert lines.slopes == [8, 1000]
    assert lines.start.tolist() == np.rint(constants).tolist()


@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize("size", [(300, 700), (3, 70_000), (5, 1), (0, 4)])
def test_lines_are_followed_however_many_pairs_there_are(size, others):
    rng = np.random.default_rng(others)
    varying = [(WeightedModel(Ranged(100), 1), rng.integers(0, 90, size=size).astype(np.int16))]
    varying += [
        (WeightedModel(Ranged(100), weight), rng.integers(0, 90, size=size).astype(np.int16))
        for weight in range(2, 2 + others)
    ]
    start = rng.integers(-9, 9, size[0]).astype(np.int32)
    units = np.full(size, -1, dtype=np.int32)
    Lines([weighted.weight for weighted, _ in varying], start).fill(varying, units)
    assert (units == sum(weighted.weight * raw for weighted, raw in varying) + start[:, None]).all()


def judged(figures) -> RoundAssessment:
    """What models said, of which only their figures matter here."""
    machines = columns({f"m{index}": b"" for index in range(figures[0].shape[1])}, {"cpu": 1000})
    return RoundAssessment(
        shapes=tuple(range(SHAPES)),
        machines=machines,
        batch=ShapeBatch(
            requests=np.zeros((SHAPES, len(machines.resources)), dtype=np.int64),
            counts=np.ones(SHAPES, dtype=np.int64),
            rows=[ShapeRow()] * SHAPES,
        ),
        rules=(),
        static=(),
        assessments=tuple(Assessment(raw=raw) for raw in figures),
        preferred=(None,) * SHAPES,
    )


@pytest.mark.parametrize("bounded_first", [True, False])
def test_one_model_without_a_bound_is_enough_to_cut_costs_off(bounded_first):
    """Rows are cut off unless all models are bounded; a sum beyond 32 bits would become negative."""
    models = [WeightedModel(Ranged(1.0), 1), WeightedModel(Ranged(1.0, bounded=False), 1)]
    figures = [np.ones((SHAPES, MACHINES)), np.full((SHAPES, MACHINES), 1e15)]
    order = (0, 1) if bounded_first else (1, 0)
    units = cost_rows(judged([figures[each] for each in order]), [models[each] for each in order])
    assert (units == LARGEST_COST).all()


def test_figures_that_lie_at_a_half_are_not_rounded_one_by_one():
    """Half a unit of the first model, and 0, 1 or 2 of the second: sums are rounded to the even number."""
    models = [WeightedModel(Ranged(20_000.0), 1), WeightedModel(Ranged(10_000.0), 1)]
    first = np.ones((1, 3), dtype=np.int16)
    second = np.array([[0, 1, 2]], dtype=np.int16)
    assert Lines.from_figures(list(zip(models, (first, second), strict=True)), np.zeros(1)) is None
    assert Lines.from_figures([(models[0], first)], np.zeros(1)) is not None, "alone it is rounded once"
    whole = Lines.from_figures(list(zip(models, (2 * first, second), strict=True)), np.zeros(1))
    assert whole is not None
    assert whole.slopes == [0, 1]


@pytest.mark.parametrize(("start", "fits"), [(0.0, True), (1e8, True), (5e8, False), (1.1e9, False)])
def test_lines_that_figures_of_16_bits_could_take_beyond_32_bits_are_not_used(start, fits):
    """60,000 units for each unit of the figure: 32,767 of them come to nearly two milliards."""
    steep = [(WeightedModel(Ranged(1.0, bounded=False), 6), np.array([[0, 1]], dtype=np.int16))]
    assert (Lines.from_figures(steep, np.array([start])) is not None) == fits

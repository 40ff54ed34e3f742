"""Prices stay finite, and no calculation leaves single precision, in markets of whatever costs, steps and sizes."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.price_estimate.market import FORBIDDEN, CrowdingSteps, Market
from firmament.core.flow.price_estimate.newton import balance, refine
from tests.support.effort import examples
from tests.support.tuning import NEWTON, PRICES

DEAREST = 1e9
"""Largest cost and crowding step of a network."""


def market(random: np.random.Generator) -> Market:
    """A market in which anything may be extreme: all costs alike, or nearly all forbidden, no room, flat steps."""
    classes, machines = int(random.choice([1, 2, 5, 20, 60])), int(random.choice([1, 2, 10, 60, 300]))
    cost = np.floor(random.random((classes, machines)) * random.choice([0.0, 1.0, 1e4, 1e7, DEAREST]))
    if random.random() < 0.3:
        cost[:] = cost[:1]
    cost[random.random(cost.shape) < random.choice([0, 0.1, 0.5, 0.95])] = FORBIDDEN
    cost[(cost >= FORBIDDEN).all(axis=1), -1] = 0
    step = float(random.choice([1, 50, 1e4, DEAREST]))
    crowd = np.minimum(np.ceil(random.random(machines) * step * random.choice([1, 10, 1e3])), DEAREST)
    crowd *= random.random(machines) < random.choice([0.3, 1.0])
    alike = np.ceil(random.random(machines) * random.choice([1, 10, 1e4]))
    room = np.floor(random.random(machines) * random.choice([1.5, 9, 1e5]))
    steps = CrowdingSteps(
        base=(crowd * np.floor(random.random(machines) * random.choice([1, 5, 1e3]))).astype(np.float32),
        growth=np.maximum(crowd / alike, PRICES.flattest * step).astype(np.float32),
        ahead=(0.5 * random.choice([1, 50]) * alike).astype(np.float32),
        room=room.astype(np.float32),
        step=step,
    )
    tasks = np.ceil(random.random(classes) * random.choice([1, 40, 1e5])) * random.choice([1.0, 0.3])
    return Market(cost.astype(np.float32), tasks.astype(np.float32), steps)


@settings(max_examples=examples(250))
@given(seed=st.integers(0, 2**32 - 1))
def test_prices_are_finite_whatever_the_market(seed: int) -> None:
    random = np.random.default_rng(seed)
    given = market(random)
    steps = given.steps
    load = np.maximum(
        steps.divide_evenly(steps.base + np.float32(random.random() * DEAREST)), np.float32(0.05)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        worth = balance(
            given, steps.base + steps.growth * load, load, float(random.choice([0.1, 1.0])) * steps.step
        )
        found = [
            refine(given, worth, smoothings, tuning=NEWTON)
            for smoothings in (NEWTON.coarse, NEWTON.sharp, NEWTON.sharpest)
        ]
        moved = worth + np.float32(random.normal() * steps.step * random.choice([0, 1, 100, 1e6, 1e12]))
        found.append(refine(given, moved, NEWTON.sharpest[-1:], tuning=NEWTON))
    for each in found:
        figures = np.concatenate([each.worth, each.price, each.load, [each.lacking]])
        assert np.isfinite(figures).all()
        assert (each.load >= 0).all()
        assert (each.load <= steps.room).all()

"""Sharpens expected prices by Newton's method on the dual of the round's network.

Given prices u of the classes, machine m is worth V_m = max over classes of u_c - cost(c, m), takes as many tasks as it
has crowding steps below V_m, and takes them from the class that attains the maximum. Prices at which every class finds
exactly its tasks taken are those of the optimal flow. Both the maximum and the staircase of steps are smoothed, so that
the tasks taken are differentiable in u and Newton's method finds the prices in a few steps; then the smoothing is made
finer. It is the entropy-regularised transport problem with a convex cost of load (Cuturi 2013, Brauer et al. 2017 for
Newton's method on it).

The unknowns are the classes' prices. Newton's equation is solved by conjugate gradients, which need the Hessian's
products with vectors only. The dual is concave, so a step that goes too far is seen by the sign of its slope, and
shortened. All of it is products of vectors with one matrix over classes x machines (see ``smoothed_market``), which
half the smoothing squares: so smoothing is halved from one stage to the next.
"""

from __future__ import annotations

import numpy as np

from firmament.core.flow.price_estimate.market import Float32, Market
from firmament.core.flow.price_estimate.smoothed_market import MarketPoint, SmoothedMarket, by_class
from firmament.core.flow.tuning import NewtonTuning, Smoothing


def refined(
    market: Market, worth: Float32, smoothings: tuple[Smoothing, ...], tuning: NewtonTuning
) -> MarketPoint:
    """Sharpen the classes' prices ``worth`` (float32[S]), which should be of about the right size.

    Smoothing ends earlier where prices do not settle with less of it.
    """
    smoothed, (first, *finer) = SmoothedMarket(market), smoothings
    begun = _settled(smoothed, _begun(smoothed, worth, first), first, tuning)
    return _sharpened(smoothed, begun, finer, tuning)


def continued(
    market: Market, worth: Float32, smoothing: Smoothing, tuning: NewtonTuning, *, most_lacking: float
) -> MarketPoint | None:
    """The same from prices that are nearly right, at once with little smoothing.

    None if classes have too few or too many places for more than ``most_lacking`` of the tasks at ``worth``, or if
    prices do not settle from there.
    """
    tasks = float(market.tasks.sum())
    smoothed = SmoothedMarket(market)
    point = _begun(smoothed, worth, smoothing)
    if point.lacking > most_lacking * tasks:
        return None
    found = _settled(smoothed, point, smoothing, tuning)
    return None if found.lacking > tuning.unsettled * tasks else found


def balanced(market: Market, price: Float32, load: Float32, temperature: float) -> Float32:
    """Prices of the classes that suit given prices and loads of the machines: one step of Sinkhorn's scaling."""
    exponent = market.cost + np.maximum(price, market.stairs.base)
    least = exponent.min(axis=1)
    exponent -= least[:, None]
    exponent *= np.float32(-1.0 / temperature)
    np.exp(exponent, out=exponent)
    offered = np.maximum(by_class(exponent, load), np.float32(1e-12))
    worth: Float32 = least + np.float32(temperature) * np.log(market.tasks / offered)
    return worth


def _begun(smoothed: SmoothedMarket, worth: Float32, smoothing: Smoothing) -> MarketPoint:
    """Prices ``worth`` of the classes, from now on with this smoothing."""
    smoothed.smooth(smoothing.temperature * smoothed.market.stairs.step, smoothing.width)
    return smoothed.at(worth)


def _sharpened(
    smoothed: SmoothedMarket, found: MarketPoint, smoothings: list[Smoothing], tuning: NewtonTuning
) -> MarketPoint:
    """What ``found`` becomes with less and less smoothing, as far as prices settle."""
    before: MarketPoint | None = None
    for smoothing in smoothings:
        temperature = smoothing.temperature * smoothed.market.stairs.step
        worth = found.worth if before is None else _followed(before, found, temperature)
        point = _settled(smoothed, _begun(smoothed, worth, smoothing), smoothing, tuning)
        if point.lacking > max(found.lacking, tuning.lost * float(smoothed.market.tasks.sum())):
            break
        before, found = found, point
    return found


def _followed(before: MarketPoint, found: MarketPoint, temperature: float) -> Float32:
    """Prices of the classes at ``temperature``, if they go on moving with it as they did between two others."""
    part = (temperature - found.temperature) / (found.temperature - before.temperature)
    worth: Float32 = found.worth + np.float32(part) * (found.worth - before.worth)
    return worth


def _settled(
    smoothed: SmoothedMarket, point: MarketPoint, smoothing: Smoothing, tuning: NewtonTuning
) -> MarketPoint:
    """Newton steps from ``point`` until few enough tasks lack a machine."""
    enough = smoothing.settled * float(smoothed.market.tasks.sum())
    for _ in range(smoothing.steps):
        if point.lacking <= enough:
            break
        move = _newton_step(smoothed, point, tuning)
        rise, length = float(move @ point.missing), np.float32(1.0)
        tried = smoothed.at(point.worth + move)
        for _ in range(tuning.shortened):
            after = float(move @ tried.missing)
            if after >= -tuning.too_far * rise:
                break
            length *= np.float32(rise / (rise - after))  # where the slope would be 0 if it fell evenly
            tried = smoothed.at(point.worth + length * move)
        point = tried
    return point


def _newton_step(smoothed: SmoothedMarket, point: MarketPoint, tuning: NewtonTuning) -> Float32:
    """How the classes' prices should move: the Hessian's inverse times the slope, by conjugate gradients.

    The first direction moves all prices alike, along which the dual is flattest.
    """
    temperature = smoothed.temperature
    bend = point.load / temperature - point.slope
    diagonal = np.maximum(point.served, np.float32(tuning.least_served) * smoothed.market.tasks) / temperature
    damped = diagonal * np.float32(1 + tuning.damping)
    missing = point.missing

    def product(move: Float32) -> Float32:
        return damped * move - smoothed.taken_from(point, bend * smoothed.passed_on(point, move))

    alike = np.ones_like(missing)
    lifted = product(alike)
    curvature = float(lifted.sum())
    height = np.float32(float(missing.sum()) / curvature) if curvature > 0 else np.float32(0)
    move, rest = height * alike, missing - height * lifted
    scaled = rest / diagonal
    direction = scaled
    size = float(rest @ scaled)
    enough = tuning.exact * tuning.exact * float(missing @ (missing / diagonal))
    for _ in range(tuning.products):
        if size <= enough:
            break
        lifted = product(direction)
        curvature = float(direction @ lifted)
        if curvature <= 0:
            break
        move = move + np.float32(size / curvature) * direction
        rest = rest - np.float32(size / curvature) * lifted
        scaled = rest / diagonal
        previous, size = size, float(rest @ scaled)
        direction = scaled + np.float32(size / previous) * direction
    return move

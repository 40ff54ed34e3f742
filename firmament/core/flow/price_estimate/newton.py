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

from dataclasses import dataclass

import numpy as np

from firmament.core.flow.price_estimate.market import CrowdingSteps, Float32, Market
from firmament.core.flow.tuning import NewtonTuning, Smoothing

TINY = 1e-12
"""Offers are taken afresh once their sums leave this and its inverse."""

FARTHEST = 25.0
"""They are as well once a class's price has moved by more than so many temperatures since they were."""

HALVED = 1e-4
"""Relative tolerance by which a temperature counts as half of another."""

BLOCK = 400_000
"""Entries of a matrix per product with a vector; those run in one thread, whatever the library's settings."""


@dataclass(frozen=True, slots=True)
class MarketPoint:
    """Prices of the S classes, and what follows from them for M machines at a temperature.

    A class offers a machine its ``factor`` times the market's kernel; its share of what the machine takes is
    that divided by the ``total``.
    """

    temperature: float
    """Temperature in units."""
    worth: Float32
    """float32[S], prices of the classes."""
    factor: Float32
    """float32[S], factor of each class's offers."""
    total: Float32
    """float32[M], sum of all offers."""
    price: Float32
    """float32[M], prices, also below what a machine charges."""
    load: Float32
    """float32[M], tasks."""
    slope: Float32
    """float32[M], growth of the load with the price."""
    served: Float32
    """float32[S], tasks with a machine."""
    missing: Float32
    """float32[S], tasks without a machine: the slope of the dual."""

    @property
    def lacking(self) -> float:
        """Tasks by which classes have too few or too many places, all together."""
        return float(np.abs(self.missing).sum())


class SmoothedMarket:
    """A market with smoothed choice and stairs.

    What a class offers to a machine is exp((worth - cost - price) / temperature). Other prices of the classes multiply
    its rows, and half the temperature squares it. So one *kernel*, float32[S, M], does for many prices, and what
    follows from each is found by products of a matrix and a vector (Sinkhorn's scaling). A point can be asked about
    until the market is smoothed otherwise, or another point has been found.
    """

    def __init__(self, market: Market) -> None:
        self.market = market
        self.temperature = np.float32(0)
        self._width = np.float32(1)
        self._kernel = np.empty((0, 0), dtype=np.float32)
        self._worth = self._price = np.empty(0, dtype=np.float32)

    def smooth(self, temperature: float, width: float) -> None:
        """Use ``temperature``, in units, and ``width``, in steps, for smoothing from now on."""
        if self._kernel.size and abs(2 * temperature - self.temperature) <= HALVED * self.temperature:
            np.square(self._kernel, out=self._kernel)
        else:
            self._kernel = np.empty((0, 0), dtype=np.float32)
        self.temperature, self._width = np.float32(temperature), np.float32(width)

    def evaluate(self, worth: Float32) -> MarketPoint:
        """Return what follows from prices of the classes."""
        if self._kernel.size:
            moved = (worth - self._worth) / self.temperature
            if np.abs(moved).max() <= FARTHEST:
                factor = np.exp(moved)
                total = by_machine(factor, self._kernel)
                if total.min() > TINY and total.max() < 1 / TINY:
                    return self._point(worth, factor, total)
        self._offer(worth)
        factor = np.ones_like(worth)
        return self._point(worth, factor, by_machine(factor, self._kernel))

    def take_from(self, point: MarketPoint, places: Float32) -> Float32:
        """Return tasks of the classes, float32[S], that machines take if they take ``places`` (float32[M]) in
        all.
        """
        return point.factor * by_class(self._kernel, places / point.total)

    def pass_on(self, point: MarketPoint, move: Float32) -> Float32:
        """Return by how much prices of machines change, float32[M], if those of the classes do by ``move``."""
        return by_machine(point.factor * move, self._kernel) / point.total

    def _offer(self, worth: Float32) -> None:
        """Take the kernel afresh at prices of the classes, and at what the best of them would pay on each machine."""
        kernel = worth[:, None] - self.market.cost
        self._worth, self._price = worth, kernel.max(axis=0)
        kernel -= self._price
        kernel *= 1 / self.temperature
        self._kernel = np.exp(kernel, out=kernel)

    def _point(self, worth: Float32, factor: Float32, total: Float32) -> MarketPoint:
        risen: Float32 = np.log(total) * self.temperature
        price = self._price + risen
        load, slope = smooth_loads(self.market.stairs, price, self._width)
        served = factor * by_class(self._kernel, load / total)
        return MarketPoint(
            temperature=float(self.temperature),
            worth=worth,
            factor=factor,
            total=total,
            price=price,
            load=load,
            slope=slope,
            served=served,
            missing=self.market.tasks - served,
        )


def smooth_loads(stairs: CrowdingSteps, price: Float32, width: np.float32) -> tuple[Float32, Float32]:
    """Return tasks that machines take at their prices, and how these grow with the price.

    Up to a step's edge minus half of ``width`` none more, from there evenly up to the edge plus half of it.
    """
    wanted = (price - stairs.base) / stairs.growth + (stairs.ahead - np.float32(0.5))
    edge = np.rint(wanted)
    beyond = (wanted - edge) / width + np.float32(0.5)
    taken = edge + np.clip(beyond, 0, 1)
    rising = (beyond > 0) & (beyond < 1) & (taken > 0) & (taken < stairs.room)
    slope = np.where(rising, 1 / (stairs.growth * width), np.float32(0))
    return np.clip(taken, 0, stairs.room), slope


def by_class(matrix: Float32, vector: Float32) -> Float32:
    """Return product of a matrix float32[S, M] with one entry per machine: float32[S]."""
    if matrix.size <= BLOCK:
        return matrix @ vector
    return np.sum([matrix[:, some] @ vector[some] for some in _blocks(matrix)], axis=0)


def by_machine(vector: Float32, matrix: Float32) -> Float32:
    """Return product of one entry per class with a matrix float32[S, M]: float32[M]."""
    if matrix.size <= BLOCK:
        return vector @ matrix
    return np.concatenate([vector @ matrix[:, some] for some in _blocks(matrix)])


def _blocks(matrix: Float32) -> list[slice]:
    """Return columns that are multiplied together."""
    classes, machines = matrix.shape
    width = max(1, BLOCK // classes)
    return [slice(begin, begin + width) for begin in range(0, machines, width)]


def refine(
    market: Market, worth: Float32, smoothings: tuple[Smoothing, ...], tuning: NewtonTuning
) -> MarketPoint:
    """Return sharpen the classes' prices ``worth`` (float32[S]), which should be of about the right size.

    Smoothing ends earlier where prices do not settle with less of it.
    """
    smoothed, (first, *finer) = SmoothedMarket(market), smoothings
    begun = _settle(smoothed, _begin(smoothed, worth, first), first, tuning)
    return _sharpen(smoothed, begun, finer, tuning)


def continue_from(
    market: Market, worth: Float32, smoothing: Smoothing, tuning: NewtonTuning, *, most_lacking: float
) -> MarketPoint | None:
    """Return the same from prices that are nearly right, at once with little smoothing.

    None if classes have too few or too many places for more than ``most_lacking`` of the tasks at ``worth``, or if
    prices do not settle from there.
    """
    tasks = float(market.tasks.sum())
    smoothed = SmoothedMarket(market)
    point = _begin(smoothed, worth, smoothing)
    if point.lacking > most_lacking * tasks:
        return None
    found = _settle(smoothed, point, smoothing, tuning)
    return None if found.lacking > tuning.unsettled * tasks else found


def balance(market: Market, price: Float32, load: Float32, temperature: float) -> Float32:
    """Return prices of the classes that suit given prices and loads of the machines: one step of Sinkhorn's
    scaling.
    """
    exponent = market.cost + np.maximum(price, market.stairs.base)
    least = exponent.min(axis=1)
    exponent -= least[:, None]
    exponent *= np.float32(-1.0 / temperature)
    np.exp(exponent, out=exponent)
    offered = np.maximum(by_class(exponent, load), np.float32(1e-12))
    worth: Float32 = least + np.float32(temperature) * np.log(market.tasks / offered)
    return worth


def _begin(smoothed: SmoothedMarket, worth: Float32, smoothing: Smoothing) -> MarketPoint:
    """Return prices ``worth`` of the classes, from now on with this smoothing."""
    smoothed.smooth(smoothing.temperature * smoothed.market.stairs.step, smoothing.width)
    return smoothed.evaluate(worth)


def _sharpen(
    smoothed: SmoothedMarket, found: MarketPoint, smoothings: list[Smoothing], tuning: NewtonTuning
) -> MarketPoint:
    """Return what ``found`` becomes with less and less smoothing, as far as prices settle."""
    before: MarketPoint | None = None
    for smoothing in smoothings:
        temperature = smoothing.temperature * smoothed.market.stairs.step
        worth = found.worth if before is None else _follow(before, found, temperature)
        point = _settle(smoothed, _begin(smoothed, worth, smoothing), smoothing, tuning)
        if point.lacking > max(found.lacking, tuning.lost * float(smoothed.market.tasks.sum())):
            break
        before, found = found, point
    return found


def _follow(before: MarketPoint, found: MarketPoint, temperature: float) -> Float32:
    """Return prices of the classes at ``temperature``, extrapolated from two other temperatures."""
    part = (temperature - found.temperature) / (found.temperature - before.temperature)
    worth: Float32 = found.worth + np.float32(part) * (found.worth - before.worth)
    return worth


def _settle(
    smoothed: SmoothedMarket, point: MarketPoint, smoothing: Smoothing, tuning: NewtonTuning
) -> MarketPoint:
    """Return newton steps from ``point`` until few enough tasks lack a machine."""
    enough = smoothing.settled * float(smoothed.market.tasks.sum())
    for _ in range(smoothing.steps):
        if point.lacking <= enough:
            break
        move = _newton_step(smoothed, point, tuning)
        rise, length = float(move @ point.missing), np.float32(1.0)
        tried = smoothed.evaluate(point.worth + move)
        for _ in range(tuning.shortened):
            after = float(move @ tried.missing)
            if after >= -tuning.too_far * rise:
                break
            length *= np.float32(rise / (rise - after))  # where the slope would be 0 if it fell evenly
            tried = smoothed.evaluate(point.worth + length * move)
        point = tried
    return point


def _newton_step(smoothed: SmoothedMarket, point: MarketPoint, tuning: NewtonTuning) -> Float32:
    """Return how the classes' prices should move: the Hessian's inverse times the slope, by conjugate
    gradients.

    The first direction moves all prices alike, along which the dual is flattest.
    """
    temperature = smoothed.temperature
    bend = point.load / temperature - point.slope
    diagonal = np.maximum(point.served, np.float32(tuning.least_served) * smoothed.market.tasks) / temperature
    damped = diagonal * np.float32(1 + tuning.damping)
    missing = point.missing

    def product(move: Float32) -> Float32:
        return damped * move - smoothed.take_from(point, bend * smoothed.pass_on(point, move))

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

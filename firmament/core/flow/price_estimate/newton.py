"""Sharpens estimated prices by Newton's method on the dual of the round's network.

Given prices u of the classes, machine m is worth V_m = max over classes of u_c - cost(c, m). The machine takes as
many tasks as it has crowding steps below V_m, from the class that attains the maximum. The prices of the optimal flow
are those at which all tasks of each class are taken. The dual has a maximum (over bids) and a staircase (of
crowding steps); both are smoothed. With the smoothing, the number of tasks taken is differentiable in u, and Newton's
method finds the prices in a few steps; then the smoothing is made finer. This is the entropy-regularised transport
problem with a convex cost of load (Cuturi 2013; Brauer et al. 2017 for Newton's method on it).

The unknowns are the classes' prices. Newton's equation is solved by conjugate gradients, which only need products of
the Hessian with vectors. The dual is concave, so the sign of the slope at the end of a step tells whether the step is
too long; such a step is shortened. Each evaluation of the smoothed dual consists of products of vectors with one
matrix over classes x machines (see ``SmoothedMarket``). Halving the temperature squares the entries of the matrix, so
the temperature is halved from stage to stage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmament.core.flow.price_estimate.market import CrowdingSteps, Float32, Market
from firmament.core.flow.tuning import NewtonTuning, Smoothing

TINY = 1e-12
"""The kernel (matrix of bids) is recomputed once sums of bids leave the range from this number to its inverse."""

FARTHEST = 25.0
"""The kernel is also recomputed once a class's price has moved by more than this many temperatures."""

HALVED = 1e-4
"""Relative tolerance for one temperature being half of another."""

BLOCK = 400_000
"""Most matrix entries in one product with a vector; up to this size, the library computes it in one thread."""


@dataclass(frozen=True, slots=True)
class MarketPoint:
    """Prices of S classes, and the loads and prices of M machines that follow from them at a temperature.

    A class's bid for a machine is its ``factor`` times the market's kernel. The share of a class in the machine's
    tasks is its bid divided by the ``total``.
    """

    temperature: float
    """The smoothing of the maximum over classes, T in docs/round.md, in hundredths of a point."""
    worth: Float32
    """float32[S], price of each class, in hundredths of a point."""
    factor: Float32
    """float32[S], factor by which each class's row of the kernel is multiplied."""
    total: Float32
    """float32[M], sum of all classes' bids for each machine."""
    price: Float32
    """float32[M], prices of the machines, which may be below what the machines charge."""
    load: Float32
    """float32[M], tasks that each machine takes."""
    slope: Float32
    """float32[M], derivative of the load with respect to the price."""
    served: Float32
    """float32[S], tasks of each class that have a machine."""
    missing: Float32
    """float32[S], tasks without a machine: the slope of the dual."""

    @property
    def lacking(self) -> float:
        """The sum of ``abs(missing)`` over the classes: how far the prices are from balance, in tasks."""
        return float(np.abs(self.missing).sum())


class SmoothedMarket:
    """A market in which the choice between classes and the steps of machines are smoothed.

    What a class bids for a machine is exp((worth - cost - price) / temperature). A change of a class's price
    multiplies its row, and half the temperature squares all entries. One *kernel*, float32[S, M], therefore serves
    for many prices, and each point is computed by products of this matrix with a vector (Sinkhorn's scaling). A point
    may be used until the smoothing changes or another point is evaluated.
    """

    def __init__(self, market: Market) -> None:
        self.market = market
        self.temperature = np.float32(0)
        self._width = np.float32(1)
        self._kernel = np.empty((0, 0), dtype=np.float32)
        self._worth = self._price = np.empty(0, dtype=np.float32)

    def smooth(self, temperature: float, width: float) -> None:
        """Set the smoothing: ``temperature`` in hundredths of a point, ``width`` in crowding steps."""
        if self._kernel.size and abs(2 * temperature - self.temperature) <= HALVED * self.temperature:
            np.square(self._kernel, out=self._kernel)
        else:
            self._kernel = np.empty((0, 0), dtype=np.float32)
        self.temperature, self._width = np.float32(temperature), np.float32(width)

    def evaluate(self, worth: Float32) -> MarketPoint:
        """Return the loads and prices of machines that follow from prices of the classes (``worth``, float32[S])."""
        if self._kernel.size:
            moved = (worth - self._worth) / self.temperature
            if np.abs(moved).max() <= FARTHEST:
                factor = np.exp(moved)
                total = sum_over_classes(factor, self._kernel)
                if total.min() > TINY and total.max() < 1 / TINY:
                    return self._point(worth, factor, total)
        self._compute_kernel(worth)
        factor = np.ones_like(worth)
        return self._point(worth, factor, sum_over_classes(factor, self._kernel))

    def take_from(self, point: MarketPoint, places: Float32) -> Float32:
        """Return how many tasks of each class get a place if the machines take ``places`` tasks: float32[S].

        ``places`` is float32[M].
        """
        return point.factor * sum_over_machines(self._kernel, places / point.total)

    def pass_on(self, point: MarketPoint, move: Float32) -> Float32:
        """Return how the machines' prices change if the classes' prices change by ``move`` (float32[S]): float32[M]."""
        return sum_over_classes(point.factor * move, self._kernel) / point.total

    def _compute_kernel(self, worth: Float32) -> None:
        """Recompute the kernel for these prices of the classes; also store the highest bid for each machine."""
        kernel = worth[:, None] - self.market.cost
        self._worth, self._price = worth, kernel.max(axis=0)
        kernel -= self._price
        kernel *= 1 / self.temperature
        self._kernel = np.exp(kernel, out=kernel)

    def _point(self, worth: Float32, factor: Float32, total: Float32) -> MarketPoint:
        risen: Float32 = np.log(total) * self.temperature
        price = self._price + risen
        load, slope = smooth_loads(self.market.steps, price, self._width)
        served = factor * sum_over_machines(self._kernel, load / total)
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


def smooth_loads(steps: CrowdingSteps, price: Float32, width: np.float32) -> tuple[Float32, Float32]:
    """Return how many tasks machines take at their prices, and the derivative of this number with respect to the price.

    A machine takes a step's task gradually, while the price rises from half of ``width`` below the step's edge to half
    of ``width`` above it.
    """
    wanted = (price - steps.base) / steps.growth + (steps.ahead - np.float32(0.5))
    edge = np.rint(wanted)
    beyond = (wanted - edge) / width + np.float32(0.5)
    taken = edge + np.clip(beyond, 0, 1)
    rising = (beyond > 0) & (beyond < 1) & (taken > 0) & (taken < steps.room)
    slope = np.where(rising, 1 / (steps.growth * width), np.float32(0))
    return np.clip(taken, 0, steps.room), slope


def sum_over_machines(matrix: Float32, vector: Float32) -> Float32:
    """Return ``matrix @ vector``: for each class, a sum over machines: float32[S].

    ``matrix``: float32[S, M]; ``vector``: float32[M].
    """
    if matrix.size <= BLOCK:
        return matrix @ vector
    return np.sum([matrix[:, some] @ vector[some] for some in _blocks(matrix)], axis=0)


def sum_over_classes(vector: Float32, matrix: Float32) -> Float32:
    """Return ``vector @ matrix``: for each machine, a sum over classes: float32[M].

    ``vector``: float32[S]; ``matrix``: float32[S, M].
    """
    if matrix.size <= BLOCK:
        return vector @ matrix
    return np.concatenate([vector @ matrix[:, some] for some in _blocks(matrix)])


def _blocks(matrix: Float32) -> list[slice]:
    """Return slices of the matrix's columns, each small enough for a product in one thread."""
    classes, machines = matrix.shape
    width = max(1, BLOCK // classes)
    return [slice(begin, begin + width) for begin in range(0, machines, width)]


def refine(
    market: Market, worth: Float32, smoothings: tuple[Smoothing, ...], tuning: NewtonTuning
) -> MarketPoint:
    """Return the point of sharp prices, starting from ``worth`` (float32[S]), which should be roughly right.

    The smoothing gets finer in stages, until a stage does not settle.
    """
    smoothed, (first, *finer) = SmoothedMarket(market), smoothings
    begun = _settle(smoothed, _begin(smoothed, worth, first), first, tuning)
    return _sharpen(smoothed, begun, finer, tuning)


def continue_from(
    market: Market, worth: Float32, smoothing: Smoothing, tuning: NewtonTuning, *, most_lacking: float
) -> MarketPoint | None:
    """Return the point of sharp prices, starting from nearly right prices with little smoothing, or None.

    The result is None if, at ``worth``, the classes' places differ from their tasks by more than ``most_lacking`` of
    all tasks, or if prices do not settle from there.
    """
    tasks = float(market.tasks.sum())
    smoothed = SmoothedMarket(market)
    point = _begin(smoothed, worth, smoothing)
    if point.lacking > most_lacking * tasks:
        return None
    found = _settle(smoothed, point, smoothing, tuning)
    return None if found.lacking > tuning.unsettled * tasks else found


def balance(market: Market, price: Float32, load: Float32, temperature: float) -> Float32:
    """Return prices of the classes that match the machines' prices and loads, by one step of Sinkhorn's scaling."""
    exponent = market.cost + np.maximum(price, market.steps.base)
    least = exponent.min(axis=1)
    exponent -= least[:, None]
    exponent *= np.float32(-1.0 / temperature)
    np.exp(exponent, out=exponent)
    offered = np.maximum(sum_over_machines(exponent, load), np.float32(1e-12))
    worth: Float32 = least + np.float32(temperature) * np.log(market.tasks / offered)
    return worth


def _begin(smoothed: SmoothedMarket, worth: Float32, smoothing: Smoothing) -> MarketPoint:
    """Set the smoothing, and return the point for the prices ``worth`` of the classes."""
    smoothed.smooth(smoothing.temperature * smoothed.market.steps.step, smoothing.width)
    return smoothed.evaluate(worth)


def _sharpen(
    smoothed: SmoothedMarket, found: MarketPoint, smoothings: list[Smoothing], tuning: NewtonTuning
) -> MarketPoint:
    """Return the point that follows from ``found`` with finer and finer smoothing, until prices no longer settle."""
    before: MarketPoint | None = None
    for smoothing in smoothings:
        temperature = smoothing.temperature * smoothed.market.steps.step
        worth = found.worth if before is None else _follow(before, found, temperature)
        point = _settle(smoothed, _begin(smoothed, worth, smoothing), smoothing, tuning)
        if point.lacking > max(found.lacking, tuning.lost * float(smoothed.market.tasks.sum())):
            break
        before, found = found, point
    return found


def _follow(before: MarketPoint, found: MarketPoint, temperature: float) -> Float32:
    """Return the classes' prices at ``temperature``, extrapolated from two higher temperatures."""
    part = (temperature - found.temperature) / (found.temperature - before.temperature)
    worth: Float32 = found.worth + np.float32(part) * (found.worth - before.worth)
    return worth


def _settle(
    smoothed: SmoothedMarket, point: MarketPoint, smoothing: Smoothing, tuning: NewtonTuning
) -> MarketPoint:
    """Return the point after Newton steps from ``point``; steps end when few enough tasks lack a machine."""
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
            length *= np.float32(
                rise / (rise - after)
            )  # where the slope would be 0 if it were linear up to there
            tried = smoothed.evaluate(point.worth + length * move)
        point = tried
    return point


def _newton_step(smoothed: SmoothedMarket, point: MarketPoint, tuning: NewtonTuning) -> Float32:
    """Return how the classes' prices should move: the inverse Hessian times the slope, by conjugate gradients.

    The first search direction moves all prices equally, because the dual is flattest along this direction.
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

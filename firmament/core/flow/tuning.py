"""Defines the constants of the search for an optimal flow: one dataclass per algorithm.

The type ``Means`` carries these constants to the algorithms.

No constant is part of a cost, and the certificate does not depend on any: other values give another flow of the same
cost, or the same flow later. Limits of number formats, and block sizes that suit the processor's cache, are defined
where they are used.

How values were found: each value was halved and doubled over 22 snapshots of 1 to 100,000 tasks and 10 to 500 classes
(see docs/decisions/0018-what-pays.md). All flows stayed certified. If a field says nothing else, halving and doubling
changed times by no more than noise, and changed the number of solves in one of 22 snapshots at most: only the order
of magnitude matters. "Halved: 1.4" means that with half the value, the slowest of the 22 snapshots took 1.4 times as
long.

*Typical step*: the median crowding step of the machines, in hundredths of a point. *Temperature*: a smoothing of
prices, also in hundredths of a point.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Smoothing:
    """A stage of Newton's method: how finely loads are smoothed, and when the stage ends.

    ``temperature``, in typical steps, smooths the choice between classes; ``width``, in steps, smooths the edges of
    steps (1: a straight line). At most ``steps`` Newton steps are made; the stage ends earlier once at most the share
    ``settled`` of the tasks lacks a machine.
    """

    temperature: float
    width: float
    steps: int
    settled: float


_ON_THE_WAY = (Smoothing(0.08, 0.5, 4, 0.06), Smoothing(0.04, 0.3, 4, 0.06))


@dataclass(frozen=True, slots=True)
class NewtonTuning:
    """Constants of Newton's method on the prices of the classes, see ``price_estimate/newton.py``."""

    coarse: tuple[Smoothing, ...] = (Smoothing(0.25, 1.0, 4, 0.01),)
    """Stages that are fine enough to tell which task wants which machine."""
    sharp: tuple[Smoothing, ...] = (*_ON_THE_WAY, Smoothing(0.02, 0.2, 6, 0.001))
    """Stages that are fine enough to tell which task wants which machine.
    The two stages before the last show how prices move as smoothing gets finer. Each temperature is half of the one
    before, so that the kernel can be squared.
    """
    sharpest: tuple[Smoothing, ...] = (
        *_ON_THE_WAY,
        Smoothing(0.02, 0.2, 6, 0.04),
        Smoothing(0.01, 0.1, 6, 0.01),
    )
    """Stages for rounds in which many shapes want the same machines, or in which further solves are expensive."""
    lost: float = 0.1
    """Share of tasks without a machine above which finer smoothing has done more harm than good. Halved: 1.4."""
    unsettled: float = 0.01
    """Share of tasks without a machine above which prices have not settled."""
    too_far: float = 0.3
    """A Newton step is shortened if the slope at its end is below minus this part of the slope at its beginning."""
    shortened: int = 3
    """Most times that one Newton step is shortened."""
    exact: float = 0.1
    """Conjugate gradients end when the residual is this part of what it was, in the norm of the preconditioner."""
    products: int = 15
    """Most products with the Hessian that conjugate gradients make."""
    least_served: float = 0.1
    """The curvature along a class's price is at least that of a class with this share of its tasks placed.
    Halved: 1.6.
    """
    damping: float = 1e-4
    """The Hessian's diagonal is raised by this part, so that prices stay finite where capacity is scarce."""


@dataclass(frozen=True, slots=True)
class ContinuationTuning:
    """Constants of estimates that start from an earlier round's prices, see ``price_estimate/continuation.py``."""

    enough_known: float = 0.9
    """Earlier prices are used if they cover this share of the tasks."""
    reach: float = 0.7
    """Machines take part if they charge at most this many typical steps more than the best bid."""
    most_moved: float = 8.0
    """Most typical steps by which the common level of prices may have moved; a larger move means another situation."""
    bisections: int = 11
    """Steps of the bisection for the common level, which is then exact to a hundredth of a typical step."""
    new_range: float = 2.0
    """A new shape's price is sought within this many typical steps of what the cheapest machine would charge it."""
    new_bisections: int = 10
    """Halvings of twice ``new_range``, after which the price is more exact than the smoothing."""
    farthest: float = 50.0
    """Difference in temperatures beyond which the better of two bids gets everything, as e**-50 is negligible."""
    misleading: float = 0.8
    """Share of all tasks by which places and tasks of classes may differ at the earlier prices.

    If they differ by more, the earlier prices mislead, and starting from scratch is faster.
    """


@dataclass(frozen=True, slots=True)
class PriceTuning:
    """Constants of price estimates, see ``price_estimate/equilibrium.py``."""

    newton: NewtonTuning = field(default_factory=NewtonTuning)
    """Constants of Newton's method."""
    continuation: ContinuationTuning = field(default_factory=ContinuationTuning)
    """Constants for continuing an earlier round's prices."""
    sampled_shapes: int = 160
    """Number of shapes that represent all shapes when class prices are sought (with 500 classes, doubled: 1.9, halved:
    0.8).
    """
    levelled_shapes: int = 32
    """Number of shapes that represent all shapes in the water-filling, where only a mean counts."""
    preferences: int = 64
    """Number of machines on which the costs of shapes are compared, to sort the shapes by preference."""
    power_steps: int = 8
    """Steps of the power method that finds this order of shapes; the direction need not be exact."""
    enough: float = 0.98
    """Prices are sharp if machines take at least this share of the tasks at these prices.

    If machines take fewer tasks, the prices are wrong, or machines are full.
    """
    large: int = 20_000
    """From this many tasks on, prices are sharpened further.

    With this many tasks, the network has many arcs, so further solves are expensive.
    """
    many: int = 32
    """From this many shapes on, prices are sharpened further as well, if all shapes take part.

    With that many shapes, the errors of prices matter, not their range.
    """
    least_doubt: float = 0.02
    """Prices found with a sample of the shapes never count as more exact than this part of a typical step."""
    least_appeal: float = 2.0
    """Least number of tasks for which a likely machine has columns: the task that will go there should have one.
    Halved: 1.4.
    """
    shortest: float = 10.0
    """Most temperatures by which a price counts as below what the machine charges; at e**-10 it attracts no sample."""
    least_load: float = 0.05
    """Least number of tasks expected on every machine when prices are balanced for the first time."""
    flattest: float = 0.02
    """Least growth of a machine's crowding, as a part of a typical step; smaller growth is raised to this value."""
    looked_at: int = 1_250
    """Least number of machines on which the first prices are found; a tenth of all machines if that is more."""
    rare: int = 30
    """A shape that fits fewer machines of the sample gets no first price; it may then want all that it fits."""
    first_reach: float = 3.0
    """After water-filling, machines are kept that charge at most this many typical steps more than the best bid.

    Halved: 1.5, doubled: 1.6.
    """
    reach: float = 1.5
    """After the first prices, machines are kept that charge at most this many typical steps more than the best bid.

    Halved: 4.8, mean 1.3, more solves in 5 of 22.
    """
    bisections: int = 24
    """Halvings of the range in which water-filling seeks the common level, to less than a hundredth of a point."""


@dataclass(frozen=True, slots=True)
class ColumnTuning:
    """Which columns a network has at first, besides ``GenerationOptions``; see ``network/arc_columns.py``."""

    candidates_enough: int = 200
    """A class that fits fewer likely machines than this number also considers other machines."""
    samples_per_machine: float = 5.0
    """Sampled pairs per likely machine, in each direction: few classes share a machine that takes many tasks. Halved:
    1.6.
    """
    fewest: int = 3
    """Least number of classes with columns on a likely machine that has any. Doubled: 1.3.
    With few classes, the machine's price is as wrong as the prices of these classes.
    """
    pairs_per_draw: int = 40
    """Pairs considered for each pair that is drawn, if there are at least twice as many pairs. Halved: 1.6."""
    looked_at: int = 512
    """Machines sampled to estimate a class's largest key among its cheapest ones, if there are twice as many."""


@dataclass(frozen=True, slots=True)
class TruncationTuning:
    """Constants for simplifying the first solve by sharp prices, see ``truncation.py``."""

    doubt: float = 6.0
    """A step is surely filled if its cost is below the expected price by more than this many temperatures. Halved:
    1.4."""
    ample: float = 16.0
    """A step is left out if its cost is above the expected price by more than this many temperatures.
    A superfluous arc costs little. A missing arc that keeps a task from its machine makes prices useless, and half the
    network is then added.
    """
    cut_off: float = 12.0
    """Costs relative to the expected prices are limited to this many temperatures. Doubled: 1.4."""
    small: int = 4_000
    """Networks with fewer arcs than this are solved unchanged. Doubled: 1.3."""


@dataclass(frozen=True, slots=True)
class RepairTuning:
    """Constants for repairing a flow in place, see ``optimality.primal_dual_repair``."""

    rounds: int = 40
    """Rounds of shortest paths after which a solve is the better choice; a dozen rounds repair nearly all flows."""
    looks_ahead_after: int = 8
    """After this many rounds, the repair is given up if, at its speed so far, it would take more than ``rounds``.

    If the repair is never given up: 1.13 at 100,000 machines.
    """
    attempts: int = 4
    """How often the repair starts.

    The repair restarts when paths would have led through arcs that were left out as too expensive.
    """


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Constants for smaller networks with the same optimum, see ``reduction.py``."""

    handful: int = 24
    """Most tasks for which choosing machines first saves time, as the choice scans every machine per shape.
    Halved: 1.4 with 24 tasks.
    """
    worthwhile: float = 0.7
    """Alike machines are merged if that leaves at most this share of them. Merged always: 5.4, mean 2.3."""


@dataclass(frozen=True, slots=True)
class FlowTuning:
    """All constants of the search for an optimal flow, one field per algorithm."""

    prices: PriceTuning = field(default_factory=PriceTuning)
    columns: ColumnTuning = field(default_factory=ColumnTuning)
    truncation: TruncationTuning = field(default_factory=TruncationTuning)
    repair: RepairTuning = field(default_factory=RepairTuning)
    reduction: ReductionTuning = field(default_factory=ReductionTuning)

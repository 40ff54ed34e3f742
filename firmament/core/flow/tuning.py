"""Constants of the search for an optimal flow: one dataclass per algorithm, passed on in ``Means``.

None of them is part of a cost, and the certificate does not depend on them: other values give another flow of the same
cost, or the same flow later. Limits of number formats, and block sizes that suit the processor's cache, are defined
where they are used.

How values were found: each was halved and doubled over 22 pictures of 1 to 100,000 tasks, 10 to 500 classes (see
docs/decisions/0018-what-pays.md). All flows stayed certified. Where a field says nothing else, times stayed within
noise and so did the number of solves in 21 of 22 pictures: only the order of magnitude matters. "Halved: 1.4" means
that with half the value, the picture that suffered most took 1.4 times as long.

*Typical step*: the median crowding step of the machines, in hundredths of a point. *Temperature*: a smoothing of
prices, also in hundredths of a point.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How far prices are sharpened: the smoothing at the end of Newton's method.

    ``temperature``, in typical steps, smooths the choice between classes; ``width``, in steps, smooths the edges of
    steps (1: a straight line). At most ``steps`` Newton steps are made, until at most the share ``settled`` of the
    tasks lacks a machine.
    """

    temperature: float
    width: float
    steps: int
    settled: float


_ON_THE_WAY = (Smoothing(0.08, 0.5, 4, 0.06), Smoothing(0.04, 0.3, 4, 0.06))


@dataclass(frozen=True, slots=True)
class NewtonTuning:
    """Newton's method on the prices of the classes, see ``price_estimate/newton.py``."""

    coarse: tuple[Smoothing, ...] = (Smoothing(0.25, 1.0, 4, 0.01),)
    """Stages of smoothing that are fine enough to show which machines are wanted."""
    sharp: tuple[Smoothing, ...] = (*_ON_THE_WAY, Smoothing(0.02, 0.2, 6, 0.001))
    """Fine enough to tell which task wants which machine. Two stages before show how prices move as smoothing gets
    finer; each temperature is half of the one before, so that the kernel can be squared.
    """
    sharpest: tuple[Smoothing, ...] = (
        *_ON_THE_WAY,
        Smoothing(0.02, 0.2, 6, 0.04),
        Smoothing(0.01, 0.1, 6, 0.01),
    )
    """For rounds in which many shapes want the same machines, or in which further solves are expensive."""
    lost: float = 0.1
    """Share of tasks without a machine above which finer smoothing has done more harm than good. Halved: 1.4."""
    unsettled: float = 0.01
    """Share of tasks without a machine above which prices have not settled."""
    too_far: float = 0.3
    """A step is shortened if the slope at its end is below minus this part of the slope at its beginning."""
    shortened: int = 3
    """Most times that a step is shortened."""
    exact: float = 0.1
    """Conjugate gradients end when the residual is this part of what it was, in the norm of the preconditioner."""
    products: int = 15
    """Most products with the Hessian that conjugate gradients make."""
    least_served: float = 0.1
    """The curvature along a class's price is at least that of a class with this share of its tasks served. Halved:
    1.6."""
    damping: float = 1e-4
    """Part by which the Hessian's diagonal is raised, so that prices stay finite where room is scarce."""


@dataclass(frozen=True, slots=True)
class ContinuationTuning:
    """Price estimates that start from the prices of an earlier round, see ``price_estimate/continuation.py``."""

    enough_known: float = 0.9
    """Earlier prices are used if they cover this share of the tasks."""
    reach: float = 0.7
    """Machines take part up to this many typical steps from being wanted; less than for rough prices."""
    most_moved: float = 8.0
    """Typical steps by which the common level may have moved; if it moved further, the situation is a different one."""
    bisections: int = 11
    """Steps of the bisection for the common level: it is then exact to a hundredth of a typical step."""
    new_range: float = 2.0
    """A new shape's price is sought within this many typical steps of what the cheapest machine would charge it."""
    new_bisections: int = 10
    """Halvings of twice ``new_range``: the price is then exact to less than the smoothing."""
    farthest: float = 50.0
    """Temperatures beyond which the better of two offers gets everything, as e**-50 is negligible."""
    misleading: float = 0.8
    """Share of the tasks for which classes have too few or too many places at the earlier prices, above which starting
    from scratch is faster.
    """


@dataclass(frozen=True, slots=True)
class PriceTuning:
    """Price estimates, see ``price_estimate/equilibrium.py``."""

    newton: NewtonTuning = field(default_factory=NewtonTuning)
    """Newton's method on a sample."""
    continuation: ContinuationTuning = field(default_factory=ContinuationTuning)
    """Continuation of an earlier round's prices."""
    sampled_shapes: int = 160
    """Shapes that represent all in the equilibrium (with 500 classes, doubled: 1.9, halved: 0.8) ..."""
    levelled_shapes: int = 32
    """... and in the water-filling, where only a mean counts."""
    preferences: int = 64
    """Machines on which the costs of shapes are compared, to sort the shapes by preference."""
    power_steps: int = 8
    """Steps of the power method that finds this order; it needs no exact direction."""
    enough: float = 0.98
    """Prices are sharp if machines take this share of the tasks at them; otherwise room is scarce, or prices are wrong.
    """
    large: int = 20_000
    """Tasks from which on prices are sharpened further: their network has many arcs, so further solves are expensive.
    """
    many: int = 32
    """Shapes from which on prices are sharpened further as well, if all shapes take part: then the errors of prices
    matter, not their range.
    """
    least_doubt: float = 0.02
    """Prices found with a sample of the shapes count as exact to no less than this part of a typical step."""
    least_appeal: float = 2.0
    """Least number of tasks for which a likely machine has columns: its own task should be among them. Halved: 1.4."""
    shortest: float = 10.0
    """Most temperatures by which a price counts as below what the machine charges: e**-10 is as good as no appeal."""
    least_load: float = 0.05
    """Least number of tasks expected on every machine when prices are balanced for the first time."""
    flattest: float = 0.02
    """Least growth of a machine's crowding, as a part of a typical step; smaller growth is raised to it."""
    looked_at: int = 1_250
    """Least number of machines on which the first prices are found; a tenth of all machines if that is more."""
    rare: int = 30
    """A shape that fits fewer machines of the sample gets no first price; it may want all machines that it fits."""
    first_reach: float = 3.0
    """Typical steps from being wanted up to which machines are kept after the water-filling (halved 1.5, twice 1.6) ...
    """
    reach: float = 1.5
    """... and at the first prices (halved: 4.8, mean 1.3, more solves in 5 of 22)."""
    bisections: int = 24
    """Halvings of the range in which the water's level is sought, to less than a unit."""


@dataclass(frozen=True, slots=True)
class ColumnTuning:
    """Which columns a network has at first, besides ``GenerationOptions``; see ``network/arc_columns.py``."""

    candidates_enough: int = 200
    """A class that fits fewer likely machines than this also considers other machines."""
    samples_per_machine: float = 5.0
    """Sampled pairs per likely machine, in each direction: few classes share a machine that takes many tasks.
    Halved: 1.6.
    """
    fewest: int = 3
    """Least number of classes with columns on a likely machine, if any have: with few classes, the machine's price is
    as wrong as theirs. Doubled: 1.3.
    """
    pairs_per_draw: int = 40
    """Pairs considered for each pair drawn, where there are at least twice as many. Halved: 1.6."""
    looked_at: int = 512
    """Sample of machines that estimates the largest key among the cheapest machines, if there are twice as many."""


@dataclass(frozen=True, slots=True)
class TruncationTuning:
    """Simplification of the first solve by sharp prices, see ``truncation.py``."""

    doubt: float = 6.0
    """A step is surely filled if its cost is below the expected price by more than this many temperatures. Halved:
    1.4."""
    ample: float = 16.0
    """A step is left out if its cost is above the expected price by more than this many temperatures. A superfluous arc
    costs little; where a missing arc keeps a task from its machine, prices are useless, and half the network is
    added."""
    cut_off: float = 12.0
    """Costs relative to the expected prices are limited to this many temperatures. Doubled: 1.4."""
    small: int = 4_000
    """Networks with fewer arcs are solved unchanged. Doubled: 1.3."""


@dataclass(frozen=True, slots=True)
class RepairTuning:
    """Repair of a flow in place, besides ``GenerationOptions.repaired_most``; see ``optimality.primal_dual_repair``."""

    rounds: int = 40
    """Rounds of shortest paths after which a solve is the better choice; nearly all flows are repaired in a dozen."""
    looks_ahead_after: int = 8
    """Rounds after which the repair is given up if at this pace it would take more than ``rounds``. Never: 1.13 at
    100,000 machines.
    """
    attempts: int = 4
    """How often the repair restarts because paths would have led through arcs that seemed too expensive to include."""


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Smaller networks with the same optimum, see ``reduction.py``."""

    handful: int = 24
    """Most tasks for which choosing machines first pays: it takes a scan of every machine per shape. Halved: 1.4 with
    24 tasks.
    """
    worthwhile: float = 0.7
    """Merging alike machines pays if it leaves at most this share of the nodes. Always: 5.4, mean 2.3."""


@dataclass(frozen=True, slots=True)
class FlowTuning:
    """The constants of all these algorithms."""

    prices: PriceTuning = field(default_factory=PriceTuning)
    columns: ColumnTuning = field(default_factory=ColumnTuning)
    truncation: TruncationTuning = field(default_factory=TruncationTuning)
    repair: RepairTuning = field(default_factory=RepairTuning)
    reduction: ReductionTuning = field(default_factory=ReductionTuning)

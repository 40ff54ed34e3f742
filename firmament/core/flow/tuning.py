"""The tuning of the search for an optimal flow: one value per algorithm, passed on in ``Means``.

None of it is part of a cost, and the certificate does not depend on it: other figures give another flow of the same
cost, or the same flow later. Bounds of number formats, and sizes of blocks that suit the processor's cache, stand where
they are used.

Where values come from: each was halved and doubled over 22 pictures of 1 to 100,000 tasks, 10 to 500 classes (see
docs/decisions/0018-what-pays.md). All flows stayed certified, and where a field says nothing else, times stayed within
noise and so did the number of solves in 21 of 22: the value was found by trial, and only its size matters. What a field
says of halving and doubling are factors of time in the picture that suffered most.

*Typical step*: the median crowding step of the machines, in units. *Temperature*: a smoothing of prices, in units.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How exact prices are to be.

    ``temperature``, in typical steps, smooths the choice between classes; ``width``, in steps, the edges of the stairs,
    1 for a straight line; at most ``steps`` of Newton's method are made, until no more than the share ``settled`` of
    the tasks lacks a machine.
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
    """Enough to tell which machines are wanted."""
    sharp: tuple[Smoothing, ...] = (*_ON_THE_WAY, Smoothing(0.02, 0.2, 6, 0.001))
    """Sharp enough to tell which task wants which machine. Two on the way show how prices move as smoothing is made
    finer; each temperature is half of the one before, so that the kernel can be squared."""
    sharpest: tuple[Smoothing, ...] = (
        *_ON_THE_WAY,
        Smoothing(0.02, 0.2, 6, 0.04),
        Smoothing(0.01, 0.1, 6, 0.01),
    )
    """Enough where many shapes want the same machines, or every further solve is dear."""
    lost: float = 0.1
    """Share of the tasks without a machine at which less smoothing has done more harm than good. Halved: 1.4."""
    unsettled: float = 0.01
    """Share of the tasks without a machine from which on prices have not settled."""
    too_far: float = 0.3
    """A step is shortened if the slope at its end is below minus this part of the slope at its beginning."""
    shortened: int = 3
    """How often a step is shortened at most."""
    exact: float = 0.1
    """Conjugate gradients end when the residual is this part of what it was, in the norm of the preconditioner."""
    products: int = 15
    """Conjugate gradients end after so many products with the Hessian."""
    least_served: float = 0.1
    """The curvature along a class's price is at least that of a class with this share of its tasks served. Halved:
    1.6."""
    damping: float = 1e-4
    """Part by which the Hessian's diagonal is raised: where room is scarce, no price is high enough, but none may be
    infinite."""


@dataclass(frozen=True, slots=True)
class ContinuationTuning:
    """Prices that start from those of an earlier round, see ``price_estimate/continuation.py``."""

    enough_known: float = 0.9
    """Earlier prices are used if they are known for the shapes of this share of the tasks."""
    reach: float = 0.7
    """Machines take part that are so many typical steps from being wanted; these prices are closer than rough ones."""
    most_moved: float = 8.0
    """Typical steps by which the common level may have moved; beyond that, the picture is another one altogether."""
    bisections: int = 11
    """Halvings of twice that range: the level is then exact to a hundredth of a step."""
    new_range: float = 2.0
    """Typical steps around what the cheapest machine would charge it within which a new shape's price is looked for."""
    new_bisections: int = 10
    """Halvings of twice that range: the price is then exact to less than the smoothing."""
    farthest: float = 50.0
    """Temperatures beyond which the better of two offers gets everything: e**-50 is nothing beside 1."""
    misleading: float = 0.8
    """Share of the tasks by which classes have too few or too many places at the earlier prices, beyond which it is
    quicker to start afresh."""


@dataclass(frozen=True, slots=True)
class PriceTuning:
    """Expected prices, see ``price_estimate/equilibrium.py``."""

    newton: NewtonTuning = field(default_factory=NewtonTuning)
    """Newton's method on a sample."""
    continuation: ContinuationTuning = field(default_factory=ContinuationTuning)
    """Following prices as smoothing falls."""
    sampled_shapes: int = 160
    """Shapes that stand for all in the equilibrium (with 500 classes, doubled: 1.9, halved: 0.8) ..."""
    levelled_shapes: int = 32
    """... and in the water-filling, where a mean is all that counts."""
    preferences: int = 64
    """Machines at which preferences of shapes are compared, to draw those from a row of similar ones."""
    power_steps: int = 8
    """Of the power method, which finds that row; an order needs no more exact a direction."""
    enough: float = 0.98
    """Prices are sharp if machines take this share of the tasks at them; else room is scarce, or they are wrong."""
    large: int = 20_000
    """Tasks from which on prices are sharpened further: their network has many arcs, and each further solve is dear."""
    many: int = 32
    """Number of shapes from which prices are sharpened further as well, if all take part: then errors of prices matter,
    not their range."""
    least_doubt: float = 0.02
    """Prices found with some of the shapes are taken to be no more exact than this part of a typical step."""
    least_appeal: float = 2.0
    """Number of tasks for which each machine has columns if it is likely to be used: its own should be among them.
    Halved: 1.4."""
    shortest: float = 10.0
    """So many temperatures below what it charges, a machine has as good as no appeal any more (e**-10)."""
    least_load: float = 0.05
    """Tasks that every machine is expected to take at least when prices are balanced for the first time."""
    flattest: float = 0.02
    """Machines whose crowding grows by less than this part of a typical step are treated as if it were that."""
    looked_at: int = 1_250
    """Machines on which the first prices are found, at least; a tenth of all if that is more."""
    rare: int = 30
    """A shape that fits fewer machines has no price yet; it is assumed to want all machines that it fits."""
    first_reach: float = 3.0
    """Typical steps from being wanted up to which machines are kept at the water's level (halved 1.5, twice 1.6) ..."""
    reach: float = 1.5
    """... and at the first prices (halved: 4.8, mean 1.3, more solves in 5 of 22)."""
    bisections: int = 24
    """Halvings of the range in which the water's level is looked for: to less than a unit."""


@dataclass(frozen=True, slots=True)
class ColumnTuning:
    """Which columns enter a network at first, beside ``GenerationOptions``; see ``network/arc_columns.py``."""

    candidates_enough: int = 200
    """A class looks beyond the machines that are likely to be used if fewer of them than this would do."""
    samples_per_machine: float = 5.0
    """Sampled pairs per likely machine, in each direction: where machines take many tasks, few classes share one.
    Halved: 1.6."""
    fewest: int = 3
    """Classes of which a likely machine has columns, if of any: the price of one that few may use is as wrong as
    theirs. Doubled: 1.3."""
    pairs_per_draw: int = 40
    """Pairs that are looked at for each that is drawn, where there are twice as many or more. Halved: 1.6."""
    looked_at: int = 512
    """Machines from which it is estimated up to which key the cheapest ones reach, if there are twice as many."""


@dataclass(frozen=True, slots=True)
class TruncationTuning:
    """What sharp prices save the first solve, see ``column_generation.py``."""

    doubt: float = 6.0
    """A step is surely filled if its cost is below the expected price by more than this many temperatures. Halved:
    1.4."""
    ample: float = 16.0
    """A step is left out if its cost is above the expected price by more than this many temperatures. An arc too many
    costs little; where one too few keeps a task from its machine, prices are of no use, and half the network is
    added."""
    cut_off: float = 12.0
    """Costs relative to the expected prices are cut off at this many temperatures. Doubled: 1.4."""
    small: int = 4_000
    """Networks with fewer arcs are solved as they are. Doubled: 1.3."""


@dataclass(frozen=True, slots=True)
class RepairTuning:
    """Mending a flow in place, beside ``GenerationOptions.mended``; see ``optimality/primal_dual_repair.py``."""

    rounds: int = 40
    """Rounds of shortest paths after which a solver is the better choice; nearly all flows are mended in a dozen."""
    looks_ahead_after: int = 8
    """Rounds after which the repair is given up if at this pace it would not end in time. Never: 1.13 at 100,000
    machines."""
    attempts: int = 4
    """How often it is begun anew because paths would have led through arcs that seemed too dear to look at."""


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Smaller networks with the same optimum, see ``reduction/``."""

    handful: int = 24
    """Tasks up to which it is worth choosing machines first: it takes a look at every machine per shape. Halved: 1.4
    with 24 tasks."""
    worthwhile: float = 0.7
    """Merging machines that are alike pays if it leaves at most this share of the nodes. Always: 5.4, mean 2.3."""


@dataclass(frozen=True, slots=True)
class FlowTuning:
    """All of it."""

    prices: PriceTuning = field(default_factory=PriceTuning)
    columns: ColumnTuning = field(default_factory=ColumnTuning)
    truncation: TruncationTuning = field(default_factory=TruncationTuning)
    repair: RepairTuning = field(default_factory=RepairTuning)
    reduction: ReductionTuning = field(default_factory=ReductionTuning)

"""Measures how much of the cluster's GPUs each placement method allocates, compared with an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import process_time

from benchmarks.environment import environment
from benchmarks.fragmentation.bound import bound_given
from benchmarks.fragmentation.greedy import place_greedily
from benchmarks.fragmentation.rounds import place_in_rounds
from benchmarks.fragmentation.trace import draw_arrivals, list_variants


@dataclass(frozen=True, slots=True)
class FragmentationOptions:
    """Options of the measurement: variants, orders of arrival, batches and moves."""

    variants: tuple[str, ...] = ()
    """Names of variants; (): all."""
    seeds: int = 1
    """How many orders of arrival to measure; their seeds begin with 42, that of the first published run."""
    batch: int = 20
    """Number of pods that come between two rounds."""
    part: int = 1
    """Divisor of the number of machines of each type; pods are fewer accordingly."""
    moves: float = 0.0
    """Percent of the placed pods that are moved at most, in one more run of the rounds; 0: none, and no such run."""
    learned: bool = False
    """Whether there is one more run of the rounds that is not told how frequent each type of pod is."""


def measure_fragmentation(
    options: FragmentationOptions, *, progress: Callable[[str], None]
) -> dict[str, object]:
    """Place the same pods by each method; return how much of the GPUs is in use."""
    runs = []
    for variant in options.variants or list_variants():
        for seed in range(42, 42 + options.seeds):
            progress(f"{variant}, seed {seed}")
            arrivals = draw_arrivals(variant, seed, options.part)
            run: dict[str, object] = {"variant": variant, "seed": seed, "pods": len(arrivals.order)}
            run["bestFit"] = place_greedily(arrivals, "best-fit").share
            fgd = place_greedily(arrivals, "fgd")
            began = process_time()
            rounds = place_in_rounds(arrivals, options.batch)
            run["seconds"] = process_time() - began
            run["fgd"], run["rounds"] = fgd.share, rounds.share
            run["first"] = fgd.count_first()
            early = rounds.placed & fgd.list_before_refusals(arrivals.order)
            if options.moves:
                began = process_time()
                moving = place_in_rounds(arrivals, options.batch, moves=options.moves / 100)
                run["secondsWithMoves"] = process_time() - began
                run["withMoves"], run["moved"] = moving.share, moving.moved / len(moving.placed)
                early &= moving.placed
            if options.learned:
                learning = place_in_rounds(arrivals, options.batch, learn=True)
                run["learned"] = learning.share
                early &= learning.placed
            run["bound"] = bound_given(arrivals, early)
            runs.append(run)
    return {
        "kind": "fragmentation",
        "environment": environment(),
        "options": asdict(options),
        "runs": runs,
    }

"""Measures how much of the cluster's GPUs each placement method allocates, compared with an upper bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import process_time

from benchmarks.environment import environment
from benchmarks.fragmentation.bound import bound_given
from benchmarks.fragmentation.greedy import place_greedily
from benchmarks.fragmentation.rounds import place_in_rounds
from benchmarks.fragmentation.trace import draw_arrivals, list_variants
from benchmarks.reports.sheets import Report


@dataclass(frozen=True, slots=True)
class FragmentationOptions:
    """Options of the measurement: variants, orders of arrival, batches and moves."""

    variants: tuple[str, ...] = ()
    """Names of variants; (): all."""
    seeds: int = 1
    """How many orders of arrival to measure."""
    first_seed: int = 42
    """The seed of the first one; further ones have the next seeds. 42 is that of the first published run."""
    batch: int = 20
    """Number of pods that come between two rounds."""
    part: int = 1
    """Divisor of the number of machines of each type; pods are fewer accordingly."""
    moves: float = 0.0
    """Percent of the placed pods that are moved at most, in one more run of the rounds; 0: none, and no such run."""
    learned: bool = False
    """Whether there is one more run of the rounds that is not told how frequent each type of pod is."""


Runs = list[dict[str, object]]
"""Results, one per variant and seed."""


def measure_fragmentation(
    options: FragmentationOptions,
    *,
    progress: Callable[[str], None],
    earlier: Report | None = None,
    keep: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Place the same pods by each method; return how much of the GPUs is in use.

    ``earlier``: a result measured with the same options, apart from variants and seeds. Its runs are part of the
    result, and are not repeated. ``keep`` gets the result so far after each run. Raises ``OtherOptionsError``.
    """
    runs: Runs = [] if earlier is None else list(earlier["runs"])
    if earlier is not None:
        _check_alike(options, earlier)
    measured = {(run["variant"], run["seed"]) for run in runs}
    report = _make_report(options, runs)
    for variant in options.variants or list_variants():
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            if (variant, seed) not in measured:
                progress(f"{variant}, seed {seed}")
                runs.append(_measure_run(options, variant, seed))
                report = _make_report(options, runs)
                keep(report)
    return report


class OtherOptionsError(ValueError):
    """Says that runs measured in different ways cannot be one result."""


def _check_alike(options: FragmentationOptions, earlier: Report) -> None:
    ours = asdict(options)
    for name in ("batch", "part", "moves", "learned"):
        if earlier["options"].get(name) != ours[name]:
            raise OtherOptionsError(
                f"it was measured with {name} {earlier['options'].get(name)}, not {ours[name]}"
            )


def _make_report(options: FragmentationOptions, runs: Runs) -> Report:
    """Return a result; the number of seeds is the largest that any variant has."""
    seeds = Counter(run["variant"] for run in runs).values()
    stated = asdict(options) | {"seeds": max(seeds, default=options.seeds)}
    return {"kind": "fragmentation", "environment": environment(), "options": stated, "runs": list(runs)}


def _measure_run(options: FragmentationOptions, variant: str, seed: int) -> dict[str, object]:
    """Return the result of one variant for one order of arrival."""
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
    run["hindsight"] = bound_given(arrivals, rounds.list_before_refusals(arrivals.order))
    return run

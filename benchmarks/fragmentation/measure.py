"""Measures how much of the cluster's GPUs each way to place allocates, beside an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import mean
from time import process_time

from benchmarks.environment import environment
from benchmarks.fragmentation.bound import bound_given
from benchmarks.fragmentation.greedy import place_greedily
from benchmarks.fragmentation.rounds import place_in_rounds
from benchmarks.fragmentation.trace import draw_arrivals, list_variants
from benchmarks.reports.sheets import Report, Sheet

WAYS = {"bestFit": "best fit", "fgd": "FGD", "rounds": "this scheduler", "bound": "bound"}
"""Figures of a run, and their names in tables."""
WITH_MOVES = {"withMoves": "with moves", "moved": "pods moved"}
"""Further figures of a run in which pods were moved."""
PUBLISHED = {
    "default": (93.08, 95.39),
    "cpu050": (93.79, 95.21),
    "cpu100": (93.44, 95.35),
    "cpu200": (92.40, 95.05),
    "cpu250": (91.45, 93.41),
    "gpushare40": (91.69, 94.15),
    "gpushare60": (89.36, 91.40),
    "gpushare80": (87.01, 89.30),
    "gpushare100": (85.01, 86.90),
    "gpuspec10": (93.30, 94.95),
    "gpuspec20": (93.30, 94.84),
    "gpuspec25": (93.23, 94.74),
    "gpuspec33": (93.09, 94.55),
    "multigpu20": (93.93, 95.65),
    "multigpu30": (94.72, 96.46),
    "multigpu40": (95.23, 96.99),
    "multigpu50": (95.74, 97.18),
}
"""Published results by variant: percent of GPUs allocated by best fit and by FGD, means of ten runs."""


@dataclass(frozen=True, slots=True)
class FragmentationOptions:
    """What is run."""

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


def measure_fragmentation(
    options: FragmentationOptions, *, progress: Callable[[str], None]
) -> dict[str, object]:
    """Place the same pods in each way."""
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
            run["bound"] = bound_given(arrivals, early)
            runs.append(run)
    return {
        "kind": "fragmentation",
        "environment": environment(),
        "options": asdict(options),
        "runs": runs,
    }


def fragmentation_sheets(report: Report) -> list[Sheet]:
    """Return tables of means by variant, in percent of all GPUs, beside the published results."""
    rows = []
    whole = report["options"]["part"] == 1
    further = _list_further(report)
    for variant, figures in _take_means(report).items():
        published = PUBLISHED[variant] if whole and variant in PUBLISHED else None
        rows.append(
            [
                variant,
                *(f"{figures[way]:.2f}" for way in (*WAYS, *further)),
                *((f"{each:.2f}" for each in published) if published else ("-", "-")),
                f"{figures['seconds'] / 100:.0f}",
            ]
        )
    caption = f"Percent of all GPUs given away, {report['options']['seeds']} runs each"
    if not whole:
        caption += f", 1 of {report['options']['part']} machines"
    headings = (
        "pods",
        *WAYS.values(),
        *further.values(),
        "best fit, published",
        "FGD, published",
        "processor seconds",
    )
    return [Sheet(caption, headings, rows)]


def _list_further(report: Report) -> dict[str, str]:
    """Return `WITH_MOVES` if pods were moved in all runs."""
    return WITH_MOVES if all(run.keys() >= WITH_MOVES.keys() for run in report["runs"]) else {}


def _take_means(report: Report) -> dict[str, dict[str, float]]:
    """Return means over the runs by variant, in hundredths."""
    found: dict[str, dict[str, float]] = {}
    for variant in dict.fromkeys(run["variant"] for run in report["runs"]):
        runs = [run for run in report["runs"] if run["variant"] == variant]
        found[variant] = {
            way: 100 * mean(run[way] for run in runs) for way in (*WAYS, *_list_further(report), "seconds")
        }
    return found

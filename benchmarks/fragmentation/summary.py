"""Summarises results by variant: means and spreads over orders of arrival, and the gain between FGD and the bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, stdev

from benchmarks.reports.sheets import Report, Sheet

WAYS = {"bestFit": "best fit", "fgd": "FGD", "rounds": "this scheduler"}
"""Ways to place pods, and their names in tables."""
FURTHER = {"learned": "usual pods learned", "withMoves": "with moves"}
"""The same, where results have them."""
BOUNDS = {"bound": "bound", "hindsight": "bound for this scheduler's pods"}
"""Bounds by a linear program, and their names in tables.

The second has places for all pods that this scheduler placed before it refused one of their type: what is missing to
it could have been had by placing these pods elsewhere.
"""
_JUDGED = ("rounds", *FURTHER)
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
class VariantSummary:
    """The GPUs that one variant's pods got, in percent of all GPUs, by method."""

    variant: str
    """Its name."""
    runs: int
    """Number of orders of arrival."""
    means: Mapping[str, float]
    """By way, and by bound: the mean over the runs."""
    spreads: Mapping[str, float]
    """By way: the standard deviation over the runs; 0 for a single run."""
    seconds: float
    """Mean processor seconds of the rounds without moves."""
    moved: float | None
    """Mean percentage of the placed pods that were moved; None: no run with moves."""

    def find_progress(self, way: str) -> float:
        """Return the gain over FGD as percent of the difference between FGD and the bound; 100 if there is no
        difference."""
        left = self.means["bound"] - self.means["fgd"]
        return 100 * (self.means[way] - self.means["fgd"]) / left if left > 0 else 100.0


def summarise(report: Report) -> list[VariantSummary]:
    """Return the summaries of a saved result, in the order in which variants were measured."""
    found = []
    for variant in dict.fromkeys(run["variant"] for run in report["runs"]):
        runs = [run for run in report["runs"] if run["variant"] == variant]
        further = [way for way in FURTHER if all(way in run for run in runs)]
        bounds = [bound for bound in BOUNDS if all(bound in run for run in runs)]
        figures = {way: [100 * float(run[way]) for run in runs] for way in (*WAYS, *further, *bounds)}
        found.append(
            VariantSummary(
                variant,
                len(runs),
                {way: mean(values) for way, values in figures.items()},
                {way: stdev(values) if len(values) > 1 else 0.0 for way, values in figures.items()},
                mean(float(run["seconds"]) for run in runs),
                100 * mean(float(run["moved"]) for run in runs) if "withMoves" in further else None,
            )
        )
    return found


def fragmentation_sheets(report: Report) -> list[Sheet]:
    """Return a table by variant, in percent of all GPUs, beside the published results."""
    summaries = summarise(report)
    whole = report["options"]["part"] == 1
    moving = any(each.moved is not None for each in summaries)
    bounds = {bound: name for bound, name in BOUNDS.items() if any(bound in each.means for each in summaries)}
    ways = WAYS | {way: name for way, name in FURTHER.items() if any(way in each.means for each in summaries)}
    rows = []
    for each in summaries:
        published = PUBLISHED.get(each.variant) if whole else None
        rows.append(
            [
                each.variant,
                *(_show(each, way) for way in ways),
                *(["-" if each.moved is None else f"{each.moved:.2f}"] if moving else []),
                *(f"{each.means[bound]:.2f}" if bound in each.means else "-" for bound in bounds),
                *(_show_progress(each, way) for way in ways if way in _JUDGED),
                *((f"{figure:.2f}" for figure in published) if published else ("-", "-")),
                f"{each.seconds:.0f}",
            ]
        )
    caption = f"Percent of all GPUs given away, {report['options']['seeds']} runs each"
    if not whole:
        caption += f", 1 of {report['options']['part']} machines"
    headings = (
        "pods",
        *ways.values(),
        *(["pods moved"] if moving else []),
        *bounds.values(),
        *(f"{name}: of the way, %" for way, name in ways.items() if way in _JUDGED),
        "best fit, published",
        "FGD, published",
        "processor seconds",
    )
    return [Sheet(caption, headings, rows)]


def _show(summary: VariantSummary, way: str) -> str:
    """Return the mean, and the spread if there are several runs."""
    if way not in summary.means:
        return "-"
    shown = f"{summary.means[way]:.2f}"
    return f"{shown} ± {summary.spreads[way]:.2f}" if summary.runs > 1 else shown


def _show_progress(summary: VariantSummary, way: str) -> str:
    return f"{summary.find_progress(way):.0f}" if way in summary.means else "-"

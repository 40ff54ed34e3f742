"""How the core did on one case beside its rivals, and on many together."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from statistics import mean

from tests.programs.differential.drive import Manner, place
from tests.programs.differential.exhaustive import most
from tests.programs.differential.generate import SIZES, case
from tests.programs.differential.pod_by_pod import orders as pod_by_pod


@dataclass(frozen=True)
class Score:
    """One case. ``best``: the optimum of small cases, else the best pod-by-pod order; ``middle``: their median."""

    seed: int
    waiting: int
    placed: int
    best: int
    middle: float
    faults: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Summary:
    """Many cases of one size. ``faulty``: seeds with faults; ``short``: (seed, placed, best), the worst first;
    ``below``: (seed, placed, median) of cases with fewer pods than the median of the rival's orders.
    """

    size: str
    cases: int
    pods: int
    placed: int
    best: int
    middle: float
    ratio: float
    seconds: float
    faulty: tuple[int, ...]
    kinds: dict[str, int]
    examples: tuple[str, ...]
    short: tuple[tuple[int, int, int], ...]
    below: tuple[tuple[int, int, float], ...]
    worst: int

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def cells(self) -> dict[str, str]:
        """A row of the table."""
        return {
            "size": self.size,
            "cases": str(self.cases),
            "pods": str(self.pods),
            "placed": str(self.placed),
            "best": str(self.best),
            "placed / best": f"{self.ratio:.4f}",
            "median of orders": f"{self.middle:.1f}",
            "below it": str(len(self.below)),
            "short of best": str(len(self.short)),
            "faulty cases": str(len(self.faulty)),
            "core s": f"{self.seconds:.1f}",
        }

    def lines(self) -> list[str]:
        """The worst cases, and what is wrong with the faulty ones."""
        lines = [f"{self.size}:"] if self.faulty or self.short or self.below else []
        if self.faulty:
            lines.append(f"  faulty cases: {', '.join(map(str, self.faulty[: self.worst]))}")
            lines += [f"  {count:6} x {kind}" for kind, count in self.kinds.items()]
            lines += [f"  e.g. {line}" for line in self.examples[: self.worst]]
        if self.short:
            worst = [f"{seed} ({placed} of {best})" for seed, placed, best in self.short[: self.worst]]
            lines.append(f"  furthest from best: {', '.join(worst)}")
        if self.below:
            worst = [f"{seed} ({placed} < {middle:g})" for seed, placed, middle in self.below[: self.worst]]
            lines.append(f"  below the median: {', '.join(worst)}")
        return lines


def score(size: str, seed: int, *, orders: int, manner: Manner | None = None) -> Score:
    """Place the case of a seed, and let the rivals do it."""
    made = case(seed, SIZES[size])
    began = time.perf_counter()
    outcome = place(made, manner)
    seconds = time.perf_counter() - began
    if size == "small":
        best = most(made).placed
        middle = float(best)
    else:
        rivals = pod_by_pod(made, orders)
        best, middle = rivals.best, rivals.median
    return Score(
        seed, len(made.waiting), len(outcome.order), best, middle, (*outcome.faults, *outcome.left), seconds
    )


def summarise(size: str, scores: list[Score], worst: int) -> Summary:
    """Put scores together."""
    faulty = [each for each in scores if each.faults]
    kinds = Counter(kind for each in faulty for fault in each.faults for kind in _kinds(fault))
    short = sorted(
        (each for each in scores if each.placed < each.best and not each.faults),
        key=lambda each: (each.placed / each.best, each.seed),
    )
    below = sorted(
        (each for each in scores if size != "small" and each.placed < each.middle),
        key=lambda each: (each.placed / each.middle, each.seed),
    )
    return Summary(
        size=size,
        cases=len(scores),
        pods=sum(each.waiting for each in scores),
        placed=sum(each.placed for each in scores),
        best=sum(each.best for each in scores),
        middle=mean(each.middle for each in scores),
        ratio=sum(each.placed for each in scores) / max(1, sum(each.best for each in scores)),
        seconds=sum(each.seconds for each in scores),
        faulty=tuple(each.seed for each in faulty),
        kinds=dict(kinds.most_common()),
        examples=tuple(f"{each.seed}: {each.faults[0]}" for each in faulty),
        short=tuple((each.seed, each.placed, each.best) for each in short),
        below=tuple((each.seed, each.placed, each.middle) for each in below),
        worst=worst,
    )


def _kinds(fault: str) -> list[str]:
    """Which rules a line is about."""
    _, breaks, rules = fault.partition("breaks ")
    return rules.split(", ") if breaks else ["left behind" if "left behind" in fault else "other"]

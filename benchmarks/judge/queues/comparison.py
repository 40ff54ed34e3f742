"""Compares two decisions about one case, and sums up many cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.judge.queues.cases import Case, Decision
from benchmarks.judge.queues.quotas import count_in_case
from benchmarks.judge.queues.rules import list_faults

CRITERIA = ("admitted by priority", "victims by priority", "borrowed amount")
"""What decisions are compared by, in this order."""


def compare(case: Case, first: Decision, second: Decision) -> tuple[str, str]:
    """Return ``better``, ``worse`` or ``equal`` for the first decision, and by which of the criteria ("" for none)."""
    for criterion, one, other in zip(CRITERIA, _weigh(case, first), _weigh(case, second), strict=True):
        if one != other and one is not None and other is not None:
            return ("better" if one < other else "worse"), criterion
    return "equal", ""


def _weigh(case: Case, decision: Decision) -> tuple[tuple[tuple[int, int], ...] | None, ...]:
    """Return a figure for each criterion, smaller for better decisions; None if it is not known."""
    admitted = Counter(case.known[name].priority for name in decision.given)
    priorities = sorted({each.priority for each in case.workloads}, reverse=True)
    by_priority = tuple((-priority, -admitted[priority]) for priority in priorities)
    left = None
    if decision.evicted is not None:
        victims = Counter(case.known[name].priority for name in decision.evicted)
        left = tuple((-priority, victims[priority]) for priority in priorities)
    return by_priority, left, _sum_borrowed(case, decision)


def _sum_borrowed(case: Case, decision: Decision) -> tuple[tuple[int, int], ...] | None:
    if decision.evicted is None or any(given.use is None for given in decision.given.values()):
        return None
    count = count_in_case(case, decision.evicted)
    for name, given in decision.given.items():
        count.book(case.known[name].queue, given.use or {})
    return ((0, count.sum_borrowed()),)


@dataclass(slots=True)
class Summary:
    """The results of many cases: how decisions of ``one`` compare with those of ``other``, and faults by case."""

    one: str
    other: str
    verdicts: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=dict)
    worse: dict[str, str] = field(default_factory=dict)
    faults_of_other: int = 0

    def add(self, case: Case) -> str:
        """Judge a case; return the verdict in words."""
        one, other = case.decisions[self.one], case.decisions[self.other]
        faults = list_faults(case, one)
        if faults:
            self.faults[case.name] = faults
        self.faults_of_other += bool(list_faults(case, other))
        same = one.given.keys() == other.given.keys() and {*(one.evicted or ())} == {*(other.evicted or ())}
        verdict, criterion = compare(case, one, other)
        self.verdicts["same" if same else verdict] += 1
        if verdict == "worse":
            self.worse[case.name] = criterion
        words = f"{'same' if same else 'differs'}, {'not allowed' if faults else 'allowed'}, {verdict}"
        return f"{words} by {criterion}" if criterion else words

    def state(self) -> str:
        """Return the sums in words."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        return f"{counts}; {len(self.faults)} not allowed; of {self.other} {self.faults_of_other}"


def summarize(cases: Iterable[Case], one: str, other: str) -> tuple[Summary, list[tuple[str, str]]]:
    """Judge cases; return the sums, and the verdict on each case."""
    summary = Summary(one, other)
    return summary, [(case.name, summary.add(case)) for case in cases]

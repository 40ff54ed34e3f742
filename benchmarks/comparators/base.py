"""The input and the output of every comparator (an algorithm that places the same tasks for comparison)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.quality.placement_quality import placement_quality
from cost_models.interface import Int64
from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.snapshot.snapshot import Snapshot


class NotMeasuredError(Exception):
    """A comparator cannot run on this problem; the text says why, and what would be needed."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One round's snapshot: the waiting tasks and machines, and the models with their weights."""

    snapshot: Snapshot
    models: tuple[WeightedModel, ...]
    seed: int = 1

    @property
    def problem(self) -> PlacementProblem:
        """The placement problem of the snapshot."""
        return self.snapshot.problem


@dataclass(frozen=True, slots=True)
class Outcome:
    """A comparator's placement. ``seconds``: its processor time; ``details``: figures of its own."""

    placed: Assignments
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


Comparator = Callable[[Contest], Outcome]
"""A function that places the tasks of a contest; raises ``NotMeasuredError``."""


def judge(name: str, contest: Contest, outcome: Outcome) -> dict[str, Any]:
    """Return rate and quality of an outcome, for reports."""
    quality = placement_quality(contest.problem, outcome.placed)
    return {
        "name": name,
        "seconds": outcome.seconds,
        "tasksPerSecond": quality.placed / outcome.seconds if outcome.seconds else None,
        "quality": quality.as_json(),
        **outcome.details,
    }


def queue_order(problem: PlacementProblem, seed: int) -> Int64:
    """Return the class of every waiting task, by priority, within a priority in random order: int64[T]."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(problem.classes), problem.counts.sum(axis=1))
    classes = rng.permutation(classes)
    return classes[np.argsort(-problem.priority[classes], kind="stable")]


def assignments(classes: Sequence[int], machines: Sequence[int], total: int) -> Assignments:
    """Return single placements as assignments with counts per pair; ``total`` is the number of machines M."""
    key = np.asarray(classes, dtype=np.int64) * total + np.asarray(machines, dtype=np.int64)
    pairs, count = np.unique(key, return_counts=True)
    cls, machine = np.divmod(pairs, max(1, total))
    return Assignments(cls, machine, count.astype(np.int64))

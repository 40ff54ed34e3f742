"""Rules per level of a tree, what they demand of counts, and why a solver finds none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cost_models.group_terms import LevelRule

Rule: TypeAlias = LevelRule


@dataclass(frozen=True, slots=True)
class CountLimits:
    """The strict part of a rule, whatever it was called: ``units``: exactly so many are used, 0 for any number; a used
    unit holds ``low`` to ``high`` pods (``high`` 0: no bound), a multiple of ``step``.
    """

    units: int
    low: int
    high: int
    step: int


def limits(rule: Rule) -> CountLimits:
    """What a rule demands of the counts. The lower bound is at least 1; both are multiples of the step."""
    if rule.hard:
        return CountLimits(1, 1, 0, 1) if rule.kind == "pack" else CountLimits(0, 1, 1, 1)
    step = max(rule.factor, 1)
    low = -(-max(rule.least, 1) // step) * step
    # A range that holds no multiple leaves no count at all: an upper bound below the lower one says that.
    high = rule.most // step * step or (low - 1 if rule.most else 0)
    return CountLimits(rule.partitions, low, high, step)


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a group finds no place. ``level``: whose rule stands in the way, empty if there is too little room at all;
    ``message``: one line for people; ``placeable``: how many of its pods could be placed by the rules.
    """

    level: str
    message: str
    placeable: int

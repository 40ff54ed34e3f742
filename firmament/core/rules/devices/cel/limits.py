"""Limits on the work of expressions, so that nobody's expression delays a round."""

from __future__ import annotations

MOST_WORK = 100_000
"""The most steps of one evaluation, a tenth of a second. Expressions that people write take about twenty."""
WORK_IN_ALL = 1_000_000
WORK_PER_DEVICE = 2_000
"""An expression gets a fault once it has taken more than `WORK_PER_DEVICE` per device and `WORK_IN_ALL` beyond that."""
MOST_STEPS = 2_000
"""The most instructions of a pattern, after repetitions are written out."""
MOST_REPETITIONS = 1_000
"""The most repetitions of a part of a pattern that a pattern may state."""
MOST_LIST_VALUES = 48
"""The most values of a list that ``includes`` compares; attributes of devices have no more."""

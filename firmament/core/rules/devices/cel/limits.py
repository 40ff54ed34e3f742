"""Limits on the work of expressions, so that nobody's expression delays a round."""

from __future__ import annotations

MOST_WORK = 100_000
"""The most steps of one evaluation, a tenth of a second. Expressions that people write take about twenty."""
WORK_PER_DEVICE = 500
"""The steps that the expressions of a request together take for each device without being costly."""
WORK_IN_ALL = 500_000
"""An expression gets a fault once it has taken more steps than this, those that are not costly aside."""
SHARED_WORK = 1_000_000
SHARED_WORK_PER_ROUND = 25_000
"""All costly expressions of a cluster together may take `SHARED_WORK` steps, and `SHARED_WORK_PER_ROUND` more each
round.
"""
SHARED_LENGTH = 1_000
WORK_PER_CHARACTER = 5
"""To read an expression counts as so many steps for each character beyond `SHARED_LENGTH`."""
MOST_STEPS = 2_000
"""The most instructions of a pattern, after repetitions are written out."""
MOST_REPETITIONS = 1_000
"""The most repetitions of a part of a pattern that a pattern may state."""
MOST_LIST_VALUES = 48
"""The most values of a list that ``includes`` compares; attributes of devices have no more."""

"""Limits on the work of expressions, which keep any user's expression from delaying a round."""

from __future__ import annotations

MOST_WORK = 100_000
"""The most steps of one evaluation; this many take a tenth of a second. An expression of the usual kind takes about
twenty steps."""
WORK_PER_DEVICE = 500
"""If the expressions of a request together take more steps than this for each device, they count as costly."""
WORK_IN_ALL = 500_000
"""An expression that has taken more costly steps than this in all fails from then on."""
SHARED_WORK = 1_000_000
SHARED_WORK_PER_ROUND = 25_000
"""All costly expressions of a cluster together may take `SHARED_WORK` steps, and `SHARED_WORK_PER_ROUND` more each
round.
"""
SHARED_LENGTH = 1_000
WORK_PER_CHARACTER = 5
"""Reading an expression costs this many steps for each character beyond `SHARED_LENGTH`."""
MOST_STEPS = 2_000
"""The most instructions of a compiled regular expression, after repetitions are written out."""
MOST_REPETITIONS = 1_000
"""The most repetitions of a part that a regular expression may state."""
MOST_LIST_VALUES = 48
"""The most values of a list that ``includes`` compares; attributes of devices have no more."""

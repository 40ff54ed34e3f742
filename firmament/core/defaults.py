"""Holds defaults of settings that both the core and the configuration file have, so that each is stated once.

This module imports nothing, so that code that only reads a configuration need not load the core.
"""

from __future__ import annotations

from typing import Final

# --- defaults of rounds --------------------------------------------------------------------------------------------

MAX_PASSES: Final = 8
"""The most passes (solving and admission) of a round; after them, the remaining tasks are placed greedily."""
SOLVE_TIME_LIMIT: Final = 10.0
"""Seconds after which a solve is stopped, and the remaining tasks of its round are placed greedily."""
SEED: Final = 0
"""Seed of the order among machines of equal cost."""
RESERVE_AFTER_ROUNDS: Final = 8
"""If this many rounds have passed over a task, a machine is reserved for it."""
RESERVE_FOR_ROUNDS: Final = 256
"""Number of rounds after which a reservation ends."""
RESERVE_AFTER: Final = 60.0
"""Approximate seconds for which rounds must have passed over a task before a machine is reserved for it."""
RESERVE_FOR: Final = 300.0
"""Seconds after which a reservation ends."""
FIRST_BACKOFF: Final = 1.0
"""Seconds that a task waits after its first failed binding."""
LAST_BACKOFF: Final = 60.0
"""The most seconds that a task waits after a failed binding."""

# --- a cluster's size ----------------------------------------------------------------------------------------------

MOST_TASKS: Final = 2_000_000
"""The most tasks of a cluster, and the most jobs."""
MOST_MACHINES: Final = 200_000
"""The most machines of a cluster."""
MOST_CLASSES: Final = 500_000
"""The most classes of a cluster."""
MOST_RECORDS: Final = 500_000
"""The most records of a cluster."""
MOST_RECORD_BYTES: Final = 2**20
"""The most bytes of a record."""

# --- defaults of fair shares ---------------------------------------------------------------------------------------

SHARE_WEIGHT: Final = 1.0
"""Weight of a namespace for which no weight is stated."""

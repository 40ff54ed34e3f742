"""Defaults of settings that both the core and the configuration file have, so that each stands once.

This module imports nothing: who only reads a configuration need not load the core.
"""

from __future__ import annotations

from typing import Final

# --- defaults of rounds --------------------------------------------------------------------------------------------

MAX_PASSES: Final = 8
"""Most passes of solving and admission before the rest of a round is placed greedily."""
SOLVE_TIME_LIMIT: Final = 10.0
"""Seconds after which a solve is cut off, and the rest of its round is placed greedily."""
SEED: Final = 0
"""Seed of the order among machines of equal cost."""
RESERVE_AFTER_ROUNDS: Final = 8
"""Rounds in which a task must be passed over before a machine is reserved for it."""
RESERVE_FOR_ROUNDS: Final = 256
"""Rounds after which a reservation ends."""
RESERVE_AFTER: Final = 60.0
"""Approximate seconds for which a task must be passed over before a machine is reserved for it."""
RESERVE_FOR: Final = 300.0
"""Seconds after which a reservation ends."""
FIRST_BACKOFF: Final = 1.0
"""Seconds that a task waits after its first failed binding."""
LAST_BACKOFF: Final = 60.0
"""Most seconds that a task waits after a failed binding."""

# --- a cluster's size ----------------------------------------------------------------------------------------------

MOST_TASKS: Final = 2_000_000
"""Tasks of a cluster, and as many jobs."""
MOST_MACHINES: Final = 200_000
"""Machines of a cluster."""
MOST_CLASSES: Final = 500_000
"""Classes of a cluster."""
MOST_RECORDS: Final = 500_000
"""Records of a cluster."""
MOST_RECORD_BYTES: Final = 2**20
"""Bytes of a record."""

# --- defaults of fair shares ---------------------------------------------------------------------------------------

SHARE_WEIGHT: Final = 1.0
"""Weight of a namespace for which none is stated."""

"""Holds the defaults of the solver's settings, so that each is stated once.

`firmament.configuration` defines the settings that the configuration file has. Cost models state the defaults of their
arguments, and `protos.configuration.shared_sections` those that the bridge needs too, as for gangs.

This module imports nothing, so that code that only reads a configuration need not load the core.
"""

from __future__ import annotations

from typing import Final

# --- defaults of rounds --------------------------------------------------------------------------------------------

BATCHING_WINDOW: Final = 0.02
"""The most seconds that a round waits for more events once there is work for it."""
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

REFRESH_REASONS_AFTER: Final = 60.0
"""Seconds after which the reasons of pending tasks are computed again if machines have changed."""

# --- limits of clients ---------------------------------------------------------------------------------------------

HELLO_TIMEOUT: Final = 10.0
"""Seconds within which a client must say who it is on a new stream."""
MOST_STREAMS: Final = 32
"""The most open streams of all clusters together."""
MOST_CLUSTERS: Final = 32
"""The most clusters with an open stream."""
MOST_QUESTIONS: Final = 16
"""The most questions that the solver answers at the same time."""
MOST_MESSAGE_BYTES: Final = 32 * 2**20
"""The most bytes of a message."""

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

# --- default of scarce resources -----------------------------------------------------------------------------------

SCARCE_RESOURCE_POINTS: Final = 15
"""By how many points machines with scarce resources are dearer for tasks that request none of these resources."""

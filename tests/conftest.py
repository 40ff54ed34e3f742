"""Settings shared by all property tests: the same examples on every run and machine, nothing written to disk.

With the environment variable ``EXPLORE`` set, other examples are drawn on every run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "property",
    derandomize="EXPLORE" not in os.environ,
    print_blob="EXPLORE" in os.environ,  # says how to draw a failing example again
    database=None,
    deadline=None,
    # Histories of a cluster are large inputs; drawing them is slow beside what is usual, not in absolute terms.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("property")

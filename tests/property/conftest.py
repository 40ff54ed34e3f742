"""Settings shared by the property tests: the same examples on every run and machine, nothing written to disk."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "property",
    derandomize=True,
    database=None,
    deadline=None,
    # Histories of a cluster are large inputs; drawing them is slow beside what is usual, not in absolute terms.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

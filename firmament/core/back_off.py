"""Holds the solver's formula of back-offs: how long something waits after it has failed a number of times.

Tasks whose binding failed, tasks that were evicted, and failed rounds wait by this formula. `FIRST_BACKOFF` and
`LAST_BACKOFF` in ``core/defaults.py`` are the shortest and the longest pause unless the configuration says otherwise.
Requests of the bridge to the API server back off by ``poseidon.kube.client.backoff``.
"""

from __future__ import annotations

_MOST_DOUBLINGS = 30
"""After this many doublings the pause no longer grows, even if there is no longest pause."""


def compute_back_off(failures: int, *, first: float, last: float) -> float:
    """Return how many seconds to wait after a number of failures in a row, which is at least 1.

    The pause is ``first`` seconds after the first failure, and doubles with each further failure, up to ``last``
    seconds.
    """
    return min(first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), last)

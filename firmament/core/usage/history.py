"""Keeps past samples of each machine's use in a ring, and computes averages, percentiles and deviations over periods.

Sources such as metrics-server report only the present use. Rings are created when the first sample of such a source
arrives, so clusters with better sources need no memory for rings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.resources import ResourceIndex

SLOTS = 128
SPACING = 15.0
"""Least seconds between stored samples: with 128 slots, the ring reaches back at least 32 minutes."""

SLACK = 1e-6
"""Tolerance in seconds for rounded times."""

_QUANTILES: Mapping[str, float] = MappingProxyType({"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99})


class SampleHistory:
    """Past samples by row, at least ``SPACING`` seconds apart except for the newest, which is always stored.

    Samples of a row must arrive in order of time.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._time: Float64 = np.empty((0, SLOTS))
        self._usage: Float64 = np.empty((0, SLOTS, 0))
        self._newest: Int64 = np.empty(0, dtype=np.int64)
        self._cache: dict[tuple[str, float], tuple[Int64, Float64]] = {}
        self._version: Int64 = np.empty(0, dtype=np.int64)
        self._last_version = 0

    def add(self, row: int, time: float, usage: Float64) -> None:
        """Add a sample of a row; ``usage``: float64[K]."""
        self._fit(row + 1)
        newest = int(self._newest[row])
        # Slots form a ring: index -1 is the slot before slot 0.
        last, before = self._time[row, newest], self._time[row, newest - 1]
        replaces = math.isnan(last) or last - before < SPACING
        slot = newest if replaces else (newest + 1) % SLOTS
        self._time[row, slot] = time
        self._usage[row, slot] = 0.0
        self._usage[row, slot, : len(usage)] = usage
        self._newest[row] = slot
        self._touch(row)

    def window(self, kind: str, seconds: float, rows: Int64) -> Float64:
        """Return the statistic ``kind`` of use over ``seconds`` before each row's newest sample: float64[N, K].

        N is the number of ``rows``. 0 seconds: the statistic is over all samples.

        The result is NaN for rows without samples, and for unknown kinds. A percentile is the smallest sample that at
        least that share of all samples does not exceed (nearest rank); the deviation is that of the population. Only
        the rows of machines that have changed since the last call are computed.
        """
        if kind not in STATISTICS or len(rows) == 0:
            return np.full((len(rows), len(self._resources)), np.nan)
        self._fit(int(rows.max()) + 1)
        version, values = self._get_cached(kind, seconds)
        stale = rows[version[rows] != self._version[rows]]
        if len(stale):
            values[stale] = self._compute(kind, seconds, stale)
            version[stale] = self._version[stale]
        return values[rows]

    def reset(self, row: int) -> None:
        """Forget the samples of a row."""
        if row < len(self._time):
            self._time[row] = np.nan
            self._newest[row] = 0
            self._touch(row)

    def move(self, source: int, target: int) -> None:
        """Move the samples of a row to another row."""
        if max(source, target) >= len(self._time) > 0:
            self._fit(max(source, target) + 1)
        if len(self._time):
            self._time[target] = self._time[source]
            self._usage[target] = self._usage[source]
            self._newest[target] = self._newest[source]
            self._touch(target)

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former indices."""
        there = kept[kept < self._usage.shape[2]]
        self._usage = self._usage.take(there, axis=2)
        self._cache.clear()

    def _compute(self, kind: str, seconds: float, rows: Int64) -> Float64:
        time = self._time[rows]
        inside = ~np.isnan(time)
        if seconds > 0:
            end = time[np.arange(len(rows)), self._newest[rows]]
            inside &= time > end[:, None] - seconds + SLACK
        samples = np.where(inside[:, :, None], self._usage[rows], np.nan)
        found = np.full((len(rows), self._usage.shape[2]), np.nan)
        some = inside.any(axis=1)
        if some.any():
            found[some] = STATISTICS[kind](samples[some])
        return found

    def _get_cached(self, kind: str, seconds: float) -> tuple[Int64, Float64]:
        key = (kind, seconds)
        rows, columns = len(self._version), len(self._resources)
        known = self._cache.get(key)
        if known is None or known[1].shape != (rows, columns):
            known = self._cache[key] = (np.full(rows, -1, dtype=np.int64), np.full((rows, columns), np.nan))
        return known

    def _touch(self, row: int) -> None:
        self._last_version += 1
        self._version[row] = self._last_version

    def _fit(self, rows: int) -> None:
        have, _, columns = self._usage.shape
        if rows <= have and len(self._resources) <= columns:
            return
        size = have if rows <= have else max(rows, 2 * have, 64)
        usage = np.zeros((size, SLOTS, max(columns, len(self._resources))))
        usage[:have, :, :columns] = self._usage
        time = np.full((size, SLOTS), np.nan)
        time[:have] = self._time
        self._usage, self._time = usage, time
        self._newest = np.concatenate([self._newest, np.zeros(size - have, dtype=np.int64)])
        self._version = np.concatenate([self._version, np.zeros(size - have, dtype=np.int64)])


def _percentile(share: float) -> Callable[[Float64], Float64]:
    def percentile(samples: Float64) -> Float64:
        ordered = np.sort(samples, axis=1)  # NaN values are sorted last.
        count = (~np.isnan(samples[:, :, 0])).sum(axis=1)
        rank = np.ceil(np.round(share * count, 9)).astype(np.int64) - 1
        return ordered[np.arange(len(samples)), np.maximum(rank, 0)]

    return percentile


STATISTICS: Mapping[str, Callable[[Float64], Float64]] = MappingProxyType(
    {
        "avg": lambda samples: np.nanmean(samples, axis=1),
        "std": lambda samples: np.nanstd(samples, axis=1),
        **{name: _percentile(share) for name, share in _QUANTILES.items()},
    }
)
"""By kind, the function that computes a statistic: from samples (float64[M, N, K], NaN for none, at least one per
row) to float64[M, K]."""

"""Chooses sets of zones like the kubelet's Topology Manager under the policies restricted and best-effort.

Source: k8s.io/kubernetes pkg/kubelet/cm: each resource manager proposes sets of zones, and prefers sets that have as
few zones as the request would need on an empty machine. The kubelet chooses a set that all managers propose and
prefer; of several, that with the lowest number if zones are read as bits. Under restricted, the kubelet admits no
task without such a set. Under best-effort, the kubelet then chooses the smallest set with room, or else all zones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cost_models.interface import Bool, Int64

MOST_ZONES = 8
"""Most zones of a machine on which the kubelet aligns tasks; further zones are ignored."""


@lru_cache(maxsize=MOST_ZONES + 1)
def _sets(zones: int) -> tuple[tuple[int, ...], ...]:
    """Return all non-empty sets of zones 0 .. ``zones`` - 1: fewest zones first, then in order of their bits."""
    numbers = sorted(range(1, 2**zones), key=lambda bits: (bits.bit_count(), bits))
    return tuple(tuple(zone for zone in range(zones) if bits >> zone & 1) for bits in numbers)


def choose_sets(left: Int64, need: Int64, total: Int64, *, aligned_only: Bool) -> tuple[Bool, Bool]:
    """Return whether each machine's kubelet admits a request, bool[A], and the zones that the request gets, bool[A, Z].

    ``left``: int64[R, A, Z], at least 0; ``need``: int64[R, A], 0 for a resource that is not aligned; ``total``:
    int64[R, A, Z]; ``aligned_only``: bool[A], True under restricted, False under best-effort. A request for nothing
    gets no zone.
    """
    width = min(left.shape[2], MOST_ZONES)
    asks = need > 0
    # How many zones a request needs of each resource on an empty machine: 0 if the resource is not requested, Z + 1
    # if all Z zones together have too little.
    largest = np.cumsum(np.sort(total, axis=2)[:, :, ::-1], axis=2)
    fewest = np.where(asks, 1 + (largest < need[:, :, None]).sum(axis=2), 0)
    size = fewest.max(axis=0, initial=0)
    agreed = ((fewest == size) | ~asks).all(axis=0)
    chosen: Bool = np.zeros(left.shape[1:], dtype=np.bool_)
    done: Bool = np.logical_not(asks.any(axis=0))
    admitted: Bool = done.copy()
    for preferred in (True, False):
        open_ = np.flatnonzero(~done & (agreed if preferred else ~aligned_only))
        for zones in _sets(width):
            if len(open_) == 0:
                break
            members = list(zones)
            mine = open_[size[open_] == len(zones)] if preferred else open_
            room = left[:, mine][:, :, members].sum(axis=2)
            fitting = mine[(room >= need[:, mine]).all(axis=0)]
            chosen[np.ix_(fitting, np.array(members))] = True
            done[fitting] = admitted[fitting] = True
            open_ = open_[~done[open_]]
    anywhere = ~done & ~aligned_only
    chosen[anywhere] = True
    return admitted | anywhere, chosen


def spread_over(left: Int64, taken: Int64, chosen: Bool) -> Int64:
    """Return how much of ``taken`` each chosen zone gives, the lowest zone first: int64[R, A, Z].

    ``left``: int64[R, A, Z]; ``taken``: int64[R, A]; ``chosen``: bool[A, Z]. If the zones have less, all of it is
    subtracted.
    """
    there = np.where(chosen[None], np.maximum(left, 0), 0)
    before = np.cumsum(there, axis=2) - there
    return np.clip(taken[:, :, None] - before, 0, there)

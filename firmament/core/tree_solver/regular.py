"""Computes profiles for many units at once whose children can each hold 0 or any count from a least to a cap.

All counts in this module are in steps (the factor that all counts share). Rows are parents, columns their children by
falling cap, 0 for children that cannot be used. A child with a larger cap can hold whatever another child can, so the
best profile uses the children with the largest caps. Once the number of used children is found, the best profile is
known.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64


def find_totals(caps: Int64, least: int, units: int, size: int) -> Bool:
    """Return the totals that each row's children can hold together: bool[rows, size + 1].

    ``units``: exactly this many children are used, 0 for any number. K children hold any total from K times the least
    to the sum of the K largest caps.
    """
    rows, children = caps.shape
    used = np.arange(1, children + 1)
    start = np.broadcast_to(used * least, caps.shape)
    end = np.minimum(np.cumsum(caps, axis=1), size)
    valid = (caps >= least) & (start <= size)
    if units:
        valid &= used == units
    row, _ = np.nonzero(valid)
    width = size + 2
    begun = np.bincount(row * width + start[valid], minlength=rows * width)
    ended = np.bincount(row * width + end[valid] + 1, minlength=rows * width)
    return np.cumsum((begun - ended).reshape(rows, width)[:, :-1], axis=1) > 0


def pack_profiles(caps: Int64, least: int, units: int, shares: Int64) -> Int64:
    """Return the best profile by rule *pack* of each row that sums to its share: int64[rows, children].

    The function uses as few children as the caps allow; each child takes as much as it can while the least count
    remains for the next ones. Every row must be able to hold its share.
    """
    before = np.cumsum(caps, axis=1) - caps
    column = np.arange(caps.shape[1])
    number = np.full(len(caps), units) if units else (before < shares[:, None]).sum(axis=1)
    after = number[:, None] - 1 - column
    profile = np.clip(shares[:, None] - before - after * least, least, caps)
    return np.where(after >= 0, profile, 0)


def spread_profiles(caps: Int64, least: int, units: int, shares: Int64) -> Int64:
    """Return the most even profile of each row that sums to its share: int64[rows, children].

    The function uses as many children as the least allows, and fills them to one level like connected vessels. Pods
    that then remain go to the first children that can take one more. Every row must be able to hold its share.
    """
    column = np.arange(caps.shape[1])
    number = units or np.minimum((caps > 0).sum(axis=1), shares // least)[:, None]
    caps = np.where(column < number, caps, 0)
    level = np.zeros(len(caps), dtype=np.int64)
    for bit in range(int(shares.max(initial=0)).bit_length() - 1, -1, -1):
        higher = level + (1 << bit)
        fits = np.minimum(caps, higher[:, None]).sum(axis=1) <= shares
        level = np.where(fits, higher, level)
    profile = np.minimum(caps, level[:, None])
    rest = shares - profile.sum(axis=1)
    return profile + ((column < rest[:, None]) & (caps > level[:, None]))


def assign_counts(profiles: Int64, caps: Int64, cost: Int64, room: Int64) -> Int64:
    """Assign the counts of each row of ``profiles`` to leaves; return the count of each leaf: int64[rows, children].

    ``caps``, ``cost`` (per pod), ``room`` and the result have the leaves in their own order. The assignment has the
    least total cost; of several such assignments, the function takes the one whose used leaves can hold least. Counts
    are assigned from the largest down, each to the best remaining leaf that can hold it. Exchanging two leaves'
    counts towards that order never costs more, since a leaf that can hold a count can hold any smaller one.
    """
    order = np.lexsort((room, cost), axis=1)
    able = np.take_along_axis(caps, order, axis=1)
    held = np.zeros_like(caps)
    row = np.arange(len(profiles))
    place = np.zeros(len(profiles), dtype=np.int64)
    while True:
        inside = place < profiles.shape[1]
        count = np.where(inside, profiles[row, np.minimum(place, profiles.shape[1] - 1)], 0)
        if not count.any():
            break
        number = (profiles == count[:, None]).sum(axis=1)
        free = (held == 0) & (able >= count[:, None])
        taken = free & (np.cumsum(free, axis=1) <= number[:, None]) & (count > 0)[:, None]
        held += taken * count[:, None]
        place += number
    back = np.empty_like(held)
    np.put_along_axis(back, order, held, axis=1)
    return back

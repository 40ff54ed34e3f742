"""Sets of counts as the bits of an integer: bit n stands for the count n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def progression(low: int, high: int, step: int = 1) -> int:
    """The set low, low + step, ... up to ``high``."""
    if high < low:
        return 0
    count = (high - low) // step + 1
    return (((1 << step * count) - 1) // ((1 << step) - 1)) << low


def members(counts: int) -> list[int]:
    """The counts of a set in rising order."""
    found = []
    while counts:
        lowest = counts & -counts
        found.append(lowest.bit_length() - 1)
        counts ^= lowest
    return found


def lowest(counts: int) -> int:
    """The least count of a set that is not empty."""
    return (counts & -counts).bit_length() - 1


def sums(one: int, other: int, size: int) -> int:
    """All sums of a count of ``one`` and a count of ``other`` that do not exceed ``size``."""
    if one.bit_count() < other.bit_count():
        one, other = other, one
    found = 0
    while other:
        start = lowest(other)
        run = other >> start
        length = (~run & (run + 1)).bit_length() - 1
        found |= _smeared(one, length) << start
        other = run >> length << (start + length)
    return found & ((2 << size) - 1)


def _smeared(counts: int, length: int) -> int:
    """The sums of a count and any of 0 .. length - 1."""
    width = 1
    while width < length:
        shift = min(width, length - width)
        counts |= counts << shift
        width += shift
    return counts


def reachable(options: Sequence[tuple[int, bool]], units: int, size: int) -> int:
    """The totals, 1 to ``size``, that children can hold together.

    ``options``: for each child the counts that it may be given, and whether it has to be given one (else it may be left
    out); ``units``: exactly so many are used, 0 for any number.
    """
    if units:
        return _exactly(enough(options, units, size), units, size) & ~1
    total = 1
    for (counts, must), number in Counter(options).items():
        total = sums(total, _multiple(counts if must else counts | 1, number, size), size)
    return total & ~1


def enough(options: Sequence[tuple[int, bool]], units: int, size: int) -> list[tuple[int, bool]]:
    """``options`` without those that no total up to ``size`` needs: children that can hold nothing, and of children
    that are alike and may be left out all but as many as can be used at once.
    """
    spare = size - sum(lowest(counts) for counts, must in options if must and counts)
    others = units - sum(must for _, must in options) if units else spare
    left: dict[int, int] = {}
    kept = []
    for option in options:
        counts, must = option
        if not must:
            if counts not in left:
                left[counts] = min(others, spare // lowest(counts)) if counts else 0
            left[counts] -= 1
            if left[counts] < 0:
                continue
        kept.append(option)
    return kept


def _multiple(counts: int, number: int, size: int) -> int:
    """The sums of ``number`` counts of one set."""
    total, power = 1, counts
    while number:
        if number & 1:
            total = sums(total, power, size)
        number >>= 1
        if number:
            power = sums(power, power, size)
    return total


def _exactly(options: Sequence[tuple[int, bool]], units: int, size: int) -> int:
    """The totals of exactly ``units`` used children."""
    totals = [1] + [0] * units
    for counts, must in options:
        for used in range(units, 0, -1):
            with_it = sums(totals[used - 1], counts, size)
            totals[used] = with_it if must else totals[used] | with_it
        if must:
            totals[0] = 0
    return totals[units]

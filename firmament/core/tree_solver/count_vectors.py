"""Finds the best counts for the children of one unit, exactly, whatever sets of counts these can hold.

A *profile* is the counts of the used children, largest first. With rule *pack*, a profile is better the fewer counts it
has, and then the larger its first, second, ... count is. With rule *spread*, a profile is better the smaller its first,
second, ... count is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from math import gcd
from operator import or_

import numpy as np
from numpy.typing import NDArray

from firmament.core.tree_solver.regular import pack_profiles, spread_profiles

Table = NDArray[np.object_]


def best_profile(options: Sequence[tuple[int, bool]], units: int, pack: bool, total: int) -> tuple[int, ...]:
    """Return the best profile that sums to ``total``, one of the totals of `find_reachable`, with its arguments.

    If the sets had no gaps, the best profile would be known at once. No profile is better than that one, so if the
    children can hold it despite their gaps, it is the answer. If the children cannot hold it, the function computes a
    table of all profiles.
    """
    within = (2 << total) - 1
    used = drop_unneeded([(counts & within, must) for counts, must in options], units, total)
    if not any(must for _, must in used):
        profile = _solve_without_gaps([counts for counts, _ in used], units, pack, total)
        if _holds([counts for counts, _ in used], profile):
            return profile
    else:
        held = _fill(used, units, total) if pack else _level(used, total)
        if sum(held) == total and _is_allowed(used, units, held):
            return tuple(sorted((count for count in held if count), reverse=True))
    return _by_table(used, units, pack, total)


def _solve_without_gaps(sets: Sequence[int], units: int, pack: bool, total: int) -> tuple[int, ...]:
    """Return the best profile as if each child could hold every count from the least of all to its own largest."""
    union = reduce(or_, sets)
    step = gcd(*list_counts(union))
    most = (
        np.array([sorted((counts.bit_length() - 1 for counts in sets), reverse=True)], dtype=np.int64) // step
    )
    fill = pack_profiles if pack else spread_profiles
    profile = fill(most, get_lowest(union) // step, units, np.array([total // step]))[0]
    return tuple((profile[profile > 0] * step).tolist())


def _fill(used: Sequence[tuple[int, bool]], units: int, total: int) -> list[int]:
    """Return for each child its count in the best packing; arbitrary counts if there is no packing.

    The function assumes that a child that must be used can hold every count from its own least to its own largest. The
    function also assumes that any other child can hold every count from the least of all these others to its own
    largest.

    As few further children are used as possible, those with the largest counts. Of all used children, the one that
    can become the largest is filled first, as far as the least counts of the others allow. Of equal children, the
    child with the larger least count is filled first, as that leaves more for the others.
    """
    must = np.array([must for _, must in used], dtype=np.bool_)
    least = min((get_lowest(counts) for counts, must in used if not must), default=0)
    low = np.array([get_lowest(counts) if must else least for counts, must in used], dtype=np.int64)
    high = np.array([counts.bit_length() - 1 for counts, _ in used], dtype=np.int64)
    others = np.flatnonzero(~must)
    others = others[np.argsort(-high[others], kind="stable")]
    rooms = int(high[must].sum()) + np.concatenate([[0], np.cumsum(high[others])])
    number = units - int(must.sum()) if units else int(np.searchsorted(rooms, total))
    counts = np.where(must, low, 0)
    if 0 <= number <= len(others):
        counts[others[:number]] = least
    waiting = np.flatnonzero(counts)
    spare = total - int(counts.sum())
    while spare > 0 and len(waiting):
        reach = np.minimum(high[waiting], low[waiting] + spare)
        place = np.lexsort((low[waiting], reach))[-1]
        spare -= int(reach[place] - low[waiting[place]])
        counts[waiting[place]] = reach[place]
        waiting = np.delete(waiting, place)
    return [int(count) for count in counts]


def _level(used: Sequence[tuple[int, bool]], total: int) -> list[int]:
    """Return for each child its count in the most even division: equal counts, as far as the children's bounds allow.

    The function assumes that each child can hold every count from its own least (0 if it may be left out) to its own
    largest.
    """
    low = np.array([get_lowest(counts) if must else 0 for counts, must in used], dtype=np.int64)
    high = np.array([counts.bit_length() - 1 for counts, _ in used], dtype=np.int64)
    level = 0
    for bit in range(total.bit_length() - 1, -1, -1):
        if np.clip(level + (1 << bit), low, high).sum() <= total:
            level += 1 << bit
    counts = np.clip(level, low, high)
    more = np.flatnonzero((low <= level) & (level < high))[: total - int(counts.sum())]
    counts[more] += 1
    return [int(count) for count in counts]


def _is_allowed(used: Sequence[tuple[int, bool]], units: int, held: Sequence[int]) -> bool:
    """Return whether the children can hold these counts, considering gaps and the number of used children."""
    return (not units or sum(count > 0 for count in held) == units) and all(
        counts >> count & 1 if count else not must for (counts, must), count in zip(used, held, strict=True)
    )


def _holds(sets: Sequence[int], profile: Sequence[int]) -> bool:
    """Return whether children with these sets of counts can hold a profile, by a matching with augmenting paths."""
    if len(profile) > len(sets):
        return False
    order = sorted(sets, key=int.bit_length, reverse=True)
    holder: list[int] = [-1] * len(order)
    for place, count in enumerate(profile):
        if order[place] >> count & 1 and holder[place] < 0:
            holder[place] = place
        elif not _augment(order, profile, holder, place):
            return False
    return True


def _augment(sets: Sequence[int], profile: Sequence[int], holder: list[int], place: int) -> bool:
    """Find a child for one more count, moving other counts to other children if necessary; return whether it worked."""
    came: dict[int, int] = {}
    waiting = [place]
    for current in waiting:
        for child, counts in enumerate(sets):
            if child in came or not counts >> profile[current] & 1:
                continue
            came[child] = current
            if holder[child] < 0:
                _move(holder, came, child, place)
                return True
            waiting.append(holder[child])
    return False


def _move(holder: list[int], came: Mapping[int, int], child: int, place: int) -> None:
    """Move each count on the augmenting path to its next child, so that the new count gets a child."""
    while came[child] != place:
        before = holder.index(came[child])
        holder[child] = came[child]
        child = before
    holder[child] = place


def _by_table(used: Sequence[tuple[int, bool]], units: int, pack: bool, total: int) -> tuple[int, ...]:
    """Return the best profile for any sets of counts, by a table.

    A profile is written as a number with a digit per count: how often the count occurs. The better profile has the
    larger number, and the numbers of children add up. A table over (used children, pods so far) thus finds the best
    profile child by child, in children x counts x pods operations on such numbers.
    """
    values = list_counts(reduce(or_, (counts for counts, _ in used)))
    digit = max(len(used).bit_length(), 1)
    weight = _weights(values, digit, pack)
    spare = total - sum(get_lowest(counts) for counts, must in used if must)
    nothing = -1 << digit * (len(values) + 3)
    table: Table = np.full((units + 1, spare + 1), nothing, dtype=object)
    table[0, 0] = 0
    for counts, must in used:
        table = _add_child(table, counts, must, weight, nothing)
    return _decode(int(table[units, spare]), values, digit, pack)


def _weights(values: Sequence[int], digit: int, pack: bool) -> Mapping[int, int]:
    """Return by count what one child with that count adds to a profile's number; ``digit``: bits per digit."""
    if not pack:
        return {value: -(1 << digit * place) for place, value in enumerate(values)}
    another = 1 << digit * len(values)
    return {value: (1 << digit * place) - another for place, value in enumerate(values)}


def _add_child(table: Table, counts: int, must: bool, weight: Mapping[int, int], nothing: int) -> Table:
    """Return the table extended by one child.

    If the child must be used (``must``), its least count has already been subtracted from the total.
    """
    base = get_lowest(counts) if must else 0
    wide = len(table) > 1
    spare = table.shape[1]
    added = np.full_like(table, nothing) if must else table.copy()
    for count in list_counts(counts):
        taken = count - base
        if taken >= spare:
            break
        before = table[:-1] if wide else table
        after = added[1:] if wide else added
        np.maximum(after[:, taken:], before[:, : spare - taken] + weight[count], out=after[:, taken:])
    return added


def _decode(key: int, values: Sequence[int], digit: int, pack: bool) -> tuple[int, ...]:
    """Return the profile that the number ``key`` stands for."""
    digits = key % (1 << digit * len(values)) if pack else -key
    mask = (1 << digit) - 1
    profile: list[int] = []
    for place in range(len(values) - 1, -1, -1):
        profile += [values[place]] * (digits >> digit * place & mask)
    return tuple(profile)


# --- Sets of counts as the bits of an integer: bit n stands for the count n.


def make_progression(low: int, high: int, step: int = 1) -> int:
    """Return the set of the numbers ``low``, ``low`` + ``step``, ... up to ``high``, as bits."""
    if high < low:
        return 0
    count = (high - low) // step + 1
    return (((1 << step * count) - 1) // ((1 << step) - 1)) << low


def list_counts(counts: int) -> list[int]:
    """Return the counts in a set (given as bits), ascending."""
    found = []
    while counts:
        lowest = counts & -counts
        found.append(lowest.bit_length() - 1)
        counts ^= lowest
    return found


def get_lowest(counts: int) -> int:
    """Return the least count in a set: the number of the lowest bit of ``counts`` that is 1; there must be one."""
    return (counts & -counts).bit_length() - 1


def add_sets(one: int, other: int, size: int) -> int:
    """Return, as bits, the set of all sums up to ``size`` of a count in ``one`` and a count in ``other``."""
    if one.bit_count() < other.bit_count():
        one, other = other, one
    found = 0
    while other:
        start = get_lowest(other)
        run = other >> start
        length = (~run & (run + 1)).bit_length() - 1
        found |= _smear(one, length) << start
        other = run >> length << (start + length)
    return found & ((2 << size) - 1)


def _smear(counts: int, length: int) -> int:
    """Return the set of all sums of a count in ``counts`` and a number from 0 to ``length`` - 1."""
    width = 1
    while width < length:
        shift = min(width, length - width)
        counts |= counts << shift
        width += shift
    return counts


def find_reachable(options: Sequence[tuple[int, bool]], units: int, size: int) -> int:
    """Return the totals from 1 to ``size`` that children can hold together, as bits.

    ``options``: for each child, the counts that it may get, and whether it must get one; ``units``: exactly this many
    children are used, 0 for any number.
    """
    if units:
        return _exactly(drop_unneeded(options, units, size), units, size) & ~1
    total = 1
    for (counts, must), number in Counter(options).items():
        total = add_sets(total, _sums_of_many(counts if must else counts | 1, number, size), size)
    return total & ~1


def drop_unneeded(options: Sequence[tuple[int, bool]], units: int, size: int) -> list[tuple[int, bool]]:
    """Return ``options`` without children that no total up to ``size`` needs.

    The children left out are those that can hold nothing and, of equal children that may be left out, all beyond the
    number that can be used at once.
    """
    spare = size - sum(get_lowest(counts) for counts, must in options if must and counts)
    others = units - sum(must for _, must in options) if units else spare
    left: dict[int, int] = {}
    kept = []
    for option in options:
        counts, must = option
        if not must:
            if counts not in left:
                left[counts] = min(others, spare // get_lowest(counts)) if counts else 0
            left[counts] -= 1
            if left[counts] < 0:
                continue
        kept.append(option)
    return kept


def _sums_of_many(counts: int, number: int, size: int) -> int:
    """Return the set of all sums, up to ``size``, of ``number`` counts in the set ``counts``; see ``add_sets``."""
    total, power = 1, counts
    while number:
        if number & 1:
            total = add_sets(total, power, size)
        number >>= 1
        if number:
            power = add_sets(power, power, size)
    return total


def _exactly(options: Sequence[tuple[int, bool]], units: int, size: int) -> int:
    """Return the set of totals, up to ``size``, that exactly ``units`` used children can hold."""
    totals = [1] + [0] * units
    for counts, must in options:
        for used in range(units, 0, -1):
            with_it = add_sets(totals[used - 1], counts, size)
            totals[used] = with_it if must else totals[used] | with_it
        if must:
            totals[0] = 0
    return totals[units]

"""Lists the ways to divide a number of members over domains: how many go to each, whichever domains these are.

A *profile* is the counts of the used domains. With rule *pack*, a profile is better the fewer counts it has, and then
the larger its largest, second largest, ... count is. With rule *spread*, a profile is better the smaller its largest,
second largest, ... count is. All allowed counts are multiples of one number between two bounds, so each partial
profile can be completed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate, islice

from firmament.core.tree_solver.tree import CountLimits

Profile = tuple[int, ...]

MERGED = 16
"""Number of sizes of *spread* profiles that are compared at a time."""
SORTED = 64
"""Number of profiles that are put in order at a time, if some domains have members already."""


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """How many members domains can take.

    ``held``: the members that some domains have already; ``held_most``: the most members of each of these; ``most``:
    the most members of each further domain, the largest first.
    """

    held: tuple[int, ...]
    held_most: tuple[int, ...]
    most: tuple[int, ...]


def iterate_profiles(
    limits: CountLimits, pack: bool, total: int, rooms: Sequence[DomainRoom]
) -> Iterator[Profile]:
    """Yield the profiles that divide ``total`` members in one of ``rooms``, the best ones first, each once.

    Counts of the domains that have members come first, then the others, the largest first. All ``rooms`` have the same
    ``held``. If domains have members already, the order only holds among `SORTED` profiles at a time.
    """
    if not rooms or total % limits.step:
        return

    def weigh(profile: Profile) -> tuple[int, ...]:
        counts = sorted(profile, reverse=True)
        return (len(counts), *(-count for count in counts)) if pack else tuple(counts)

    streams = [_iterate_in_room(limits, pack, total, room) for room in rooms]
    if rooms[0].held:
        streams = [_sort_in_chunks(stream, weigh) for stream in streams]
    seen: set[Profile] = set()
    for profile in merge(*streams, key=weigh) if len(streams) > 1 else streams[0]:
        if profile not in seen:
            seen.add(profile)
            yield profile


def _sort_in_chunks(
    stream: Iterator[Profile], weigh: Callable[[Profile], tuple[int, ...]]
) -> Iterator[Profile]:
    while chunk := list(islice(stream, SORTED)):
        yield from sorted(chunk, key=weigh)


def _iterate_in_room(limits: CountLimits, pack: bool, total: int, room: DomainRoom) -> Iterator[Profile]:
    counting = _Counting(limits, pack, total, room)
    sizes = counting.list_sizes()
    if pack:
        for size in sizes:
            yield from counting.iterate(size)
        return
    sizes = sizes[::-1]
    for first in range(0, len(sizes), MERGED):
        streams = [counting.iterate(size) for size in sizes[first : first + MERGED]]
        yield from merge(*streams, key=lambda profile: sorted(profile, reverse=True))


class _Counting:
    """The counts that the domains of one place may have, in multiples of the limits' step."""

    def __init__(self, limits: CountLimits, pack: bool, total: int, room: DomainRoom) -> None:
        step = limits.step
        self._step, self._pack, self._units = step, pack, limits.units
        self._total, self._low = total // step, limits.low // step
        high = limits.high // step if limits.high else self._total
        self._held = [
            (max(self._low, -(-count // step)), min(high, most // step))
            for count, most in zip(room.held, room.held_most, strict=True)
        ]
        most = [min(high, each // step) for each in room.most]
        self._most = [each for each in most if each >= self._low]
        self._sums = [0, *accumulate(self._most)]
        self._negated = [-each for each in self._most]

    def list_sizes(self) -> range:
        """Return how many further domains may be used, besides those that have members."""
        if any(low > high for low, high in self._held):
            return range(0)
        least, most = (sum(bounds[end] for bounds in self._held) for end in (0, 1))
        first = bisect_left(self._sums, self._total - most)
        last = min((self._total - least) // self._low, len(self._most))
        if not self._units:
            return range(first, last + 1)
        number = self._units - len(self._held)
        return range(number, number + 1) if first <= number <= last else range(0)

    def iterate(self, size: int) -> Iterator[Profile]:
        """Yield the profiles that use ``size`` domains besides those that have members."""
        length = len(self._held) + size
        if not length:
            return
        counts: list[int] = []
        left = self._total
        todo = [iter(self._list_counts(0, size, left, self._total))]
        while todo:
            count = next(todo[-1], -1)
            if count < 0:
                todo.pop()
                if counts:
                    left += counts.pop()
                continue
            counts.append(count)
            left -= count
            if len(counts) == length:
                yield tuple(each * self._step for each in counts)
                left += counts.pop()
                continue
            last = count if len(counts) > len(self._held) else self._total
            todo.append(iter(self._list_counts(len(counts), size, left, last)))

    def _list_counts(self, place: int, size: int, left: int, last: int) -> Sequence[int]:
        """Return the counts that one domain may have, if ``left`` members go to it and to the domains after it."""
        if place < len(self._held):
            low, high = self._held[place]
            after = self._held[place + 1 :]
            low = max(low, left - sum(most for _, most in after) - self._sums[size])
            high = min(high, left - sum(least for least, _ in after) - size * self._low)
            if self._pack:
                return range(high, low - 1, -1)
            level = left / (len(after) + 1 + size)
            return sorted(range(low, high + 1), key=lambda count: (abs(count - level), count))
        number = place - len(self._held)
        high = min(last, self._most[number], left - (size - number - 1) * self._low)
        low = self._low + bisect_left(
            range(self._low, high + 1),
            True,
            key=lambda count: count + self._sum_most(number + 1, size, count) >= left,
        )
        return range(high, low - 1, -1) if self._pack else range(low, high + 1)

    def _sum_most(self, first: int, end: int, count: int) -> int:
        """Return the most that the further domains from ``first`` on hold together with at most ``count`` in each."""
        middle = min(max(bisect_left(self._negated, -count), first), end)
        return (middle - first) * count + self._sums[end] - self._sums[middle]

"""Lists the ways to divide a group's members: which members share a domain, and which find none.

A choice divides the members into *shares*; each share needs a domain of its own. Equal members are counted, not told
apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from firmament.core.tree_solver.nested.divided.profiles import DomainRoom, iterate_profiles
from firmament.core.tree_solver.tree import Rule, limits

DEALINGS = 48
"""Most ways in which members of several kinds are divided into the shares of one profile (list of sizes)."""
COMBINATIONS = 200
"""Most combinations of kinds that are tried for one share."""


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """The members of a group that is divided over domains by a rule.

    ``waiting``: for each kind, the number of members that are not in a domain yet; ``held``: the domains in which
    members are already, with the number of these; ``least``: how many members the group needs; ``rooms``: for each
    place where the group may be, how many members the domains there can take.
    """

    waiting: tuple[int, ...]
    held: dict[int, int]
    least: int
    rooms: tuple[DomainRoom, ...]


@dataclass(frozen=True, slots=True)
class MemberShare:
    """The members that share a domain.

    ``domain``: number of the domain, -1 if it is still to be found; ``new``: for each kind, the number of waiting
    members; ``size``: the number of all members in the share.
    """

    domain: int
    new: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class DivisionChoice:
    """One way to divide the members of a group over domains.

    ``left``: how many members find no place; ``is_whole``: whether the group then has the members that it needs.
    ``keeps_rule``: whether the counts are as the rule says. If the counts break the rule, only members that have
    domains already are in the shares.
    """

    shares: tuple[MemberShare, ...]
    left: int
    is_whole: bool = True
    keeps_rule: bool = True


class DivisionChoices:
    """The choices of one division, listed as far as they are asked for; those that leave out few members first."""

    def __init__(self, rule: Rule, members: MemberCounts, *, binds_held: bool = False) -> None:
        """``binds_held``: as in `Division`."""
        self._found: list[DivisionChoice] = []
        self._rest = _iterate_choices(self, rule, members, binds_held=binds_held)
        self.is_complete = True
        """Whether all choices have been listed so far, and none left out by a limit."""

    def get(self, rank: int) -> DivisionChoice | None:
        """Return a choice by its rank; None if there are fewer choices."""
        if rank >= len(self._found):
            self._found += islice(self._rest, rank + 1 - len(self._found))
        return self._found[rank] if rank < len(self._found) else None


def _iterate_choices(
    choices: DivisionChoices, rule: Rule, members: MemberCounts, *, binds_held: bool
) -> Iterator[DivisionChoice]:
    held, waiting = sum(members.held.values()), sum(members.waiting)
    for total in range(held + waiting, max(held - binds_held, members.least - 1, 0), -1):
        left = held + waiting - total
        for profile in iterate_profiles(limits(rule), rule.kind == "pack", total, members.rooms):
            known = len(members.held)
            domains = [*members.held, *[-1] * (len(profile) - known)]
            there = [*members.held.values(), *[0] * (len(profile) - known)]
            sizes = [count - before for count, before in zip(profile, there, strict=True)]
            dealings = iterate_dealings([*sizes, left], members.waiting, [*domains, -2])
            for number, (dealing, is_all) in enumerate(dealings):
                choices.is_complete &= is_all and number < DEALINGS
                if number >= DEALINGS:
                    break
                shares = zip(domains, dealing, profile, strict=False)
                yield DivisionChoice(tuple(MemberShare(*each) for each in shares), left)
    if binds_held:
        return
    nothing = (0,) * len(members.waiting)
    kept = tuple(MemberShare(domain, nothing, count) for domain, count in members.held.items())
    yield DivisionChoice(kept, waiting, is_whole=held >= members.least, keeps_rule=False)


def iterate_dealings(
    sizes: Sequence[int], waiting: Sequence[int], domains: Sequence[int]
) -> Iterator[tuple[tuple[tuple[int, ...], ...], bool]]:
    """Yield the ways to divide members of several kinds into shares of ``sizes``, the most even way first.

    A way states the members of each kind for each share. Each way comes with a truth value: whether none was left out
    before it. ``waiting``: the members of each kind, as many as ``sizes`` in all. Of ways that only exchange shares
    with equal size and equal number in ``domains``, one is given.
    """
    if len(waiting) < 2:
        if waiting or not any(sizes):
            yield tuple((size,) * len(waiting) for size in sizes), True
        return
    dealt: list[tuple[int, ...]] = []
    left = tuple(waiting)
    is_all = True
    todo = [iter(_combine(sizes[0], left))]
    while todo:
        found = next(todo[-1], None)
        if found is None:
            todo.pop()
            if dealt:
                left = tuple(a + b for a, b in zip(left, dealt.pop(), strict=True))
            continue
        combination, complete = found
        is_all &= complete
        place = len(dealt)
        alike = place and sizes[place] == sizes[place - 1] and domains[place] == domains[place - 1]
        if alike and combination > dealt[-1]:
            continue
        dealt.append(combination)
        left = tuple(a - b for a, b in zip(left, combination, strict=True))
        if len(dealt) == len(sizes):
            yield tuple(dealt), is_all
            left = tuple(a + b for a, b in zip(left, dealt.pop(), strict=True))
            continue
        todo.append(iter(_combine(sizes[len(dealt)], left)))


def _combine(size: int, left: Sequence[int]) -> list[tuple[tuple[int, ...], bool]]:
    """Return the ways to take ``size`` of the members ``left`` of each kind, the most even first.

    Each way comes with a truth value: whether the list holds all ways.
    """
    total = sum(left)
    even = [count * size / total if total else 0.0 for count in left]
    ranges = [range(min(size, count) + 1) for count in left[:-1]]
    several = 1
    for each in ranges:
        several *= len(each)
    if several > COMBINATIONS * 8:
        return [(_round(even, size, left), False)]
    found = []
    for counts in product(*ranges):
        last = size - sum(counts)
        if 0 <= last <= left[-1]:
            found.append((*counts, last))
    found.sort(key=lambda counts: sum(abs(a - b) for a, b in zip(counts, even, strict=True)))
    complete = len(found) <= COMBINATIONS
    return [(each, complete) for each in found[:COMBINATIONS]]


def _round(even: Sequence[float], size: int, left: Sequence[int]) -> tuple[int, ...]:
    """Return whole numbers near ``even`` that sum to ``size``, no number larger than the one in ``left``."""
    counts = [int(each) for each in even]
    order = sorted(range(len(even)), key=lambda kind: counts[kind] - even[kind])
    while (missing := size - sum(counts)) > 0:
        for kind in order[:missing]:
            counts[kind] += counts[kind] < left[kind]
    return tuple(counts)

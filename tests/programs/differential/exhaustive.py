"""The most pods that any order and any choice of nodes can place: a search over all positions, for small cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.programs.differential.board import Board, Layout
from tests.programs.differential.world import Case

MOST_POSITIONS = 200_000
"""A case that needs more positions than this is too large for the search."""


@dataclass(frozen=True)
class Best:
    """``placed``: how many pods; ``order``: (uid, node) in an order that keeps every rule at every step."""

    placed: int
    order: tuple[tuple[str, str], ...]


def most(case: Case) -> Best:
    """The best placement of a case. Pods of one spec are interchangeable, so positions count pods per spec and node.

    What is possible in a position depends on it only, not on the order in which it came about; each is visited once.
    Positions from which even the rules that only tighten allow no more than the best so far are left out.
    """
    specs = {spec.name: spec for spec in case.waiting.values()}
    layout = Layout(case.cluster, list(specs.values()))
    numbers = Counter(spec.name for spec in case.waiting.values())
    waiting = tuple(numbers[spec.name] for spec in layout.specs)
    best: tuple[tuple[int, int], ...] = ()
    seen: set[tuple[tuple[int, int], ...]] = {()}
    stack: list[tuple[Board, tuple[int, ...], tuple[tuple[int, int], ...]]] = [(Board(layout), waiting, ())]
    while stack:
        board, left, moves = stack.pop()
        if len(moves) > len(best):
            best = moves
        if len(moves) + _at_most(board, left) <= len(best):
            continue
        for spec, count in enumerate(left):
            nodes = board.accepting(spec) if count else 0
            while nodes:
                at = nodes.bit_length() - 1
                nodes &= ~(1 << at)
                position = tuple(sorted((*moves, (spec, at))))
                if position in seen:
                    continue
                seen.add(position)
                if len(seen) > MOST_POSITIONS:
                    raise ValueError(f"case {case.seed}: more than {MOST_POSITIONS} positions")
                after = board.copy()
                after.place(spec, at)
                rest = (*left[:spec], count - 1, *left[spec + 1 :])
                stack.append((after, rest, (*moves, (spec, at))))
    return Best(len(best), _named(case, layout, best))


def _at_most(board: Board, left: tuple[int, ...]) -> int:
    """A bound on how many more can be placed: those that have some node left."""
    return sum(count for spec, count in enumerate(left) if count and board.reachable(spec))


def _named(case: Case, layout: Layout, moves: tuple[tuple[int, int], ...]) -> tuple[tuple[str, str], ...]:
    uids = {
        spec.name: iter([uid for uid, of in case.waiting.items() if of.name == spec.name])
        for spec in layout.specs
    }
    return tuple((next(uids[layout.specs[spec].name]), layout.nodes[at].name) for spec, at in moves)

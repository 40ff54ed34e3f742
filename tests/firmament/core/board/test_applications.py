"""The places of an application's tasks against counting pair by pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cost_models.pairs import PairTerms
from firmament.core.board.application import Application, ApplicationBoard
from firmament.core.constraints.pairs import PairState
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from tests.firmament.core.constraints.test_pairs import (
    KINDS,
    MACHINES,
    QUIET,
    loads,
    rules,
    split,
    spots,
    terms,
    total,
    verdicts,
)
from tests.support.core import problem


def make_board(pairs: PairTerms, fixed: list[tuple[int, int]]) -> ApplicationBoard:
    """Return a board of all kinds, in a round that knows what is fixed."""
    made: PlacementProblem = problem(
        tasks=[10] * KINDS, requests=[[1]] * KINDS, free=[[100]] * MACHINES, crowd=7
    )
    kinds, machines = split(fixed)
    every = np.arange(MACHINES)
    return ApplicationBoard(
        Residual(made),
        PairState(rules(pairs, fixed)),
        Application(np.arange(KINDS), np.arange(KINDS), np.arange(KINDS), every, kinds, machines),
    )


@QUIET
@given(
    terms(links=True),
    spots,
    st.lists(st.tuples(st.integers(0, KINDS - 1), st.integers(0, MACHINES - 1)), max_size=6),
)
def test_a_board_closes_what_limits_and_links_close(
    pairs: PairTerms, fixed: list[tuple[int, int]], put: list[tuple[int, int]]
) -> None:
    board, where = make_board(pairs, fixed), fixed + put
    for kind, machine in put:
        board.put(kind, machine, 0.0)
    before = loads(pairs, where)
    for kind in range(KINDS):
        fits = board.row(kind)[1]
        for machine in range(MACHINES):
            exceeded, kept, inward = verdicts(pairs, where, kind, int(pairs.domain[machine]))
            allowed = exceeded + inward == 0 if pairs.strict else exceeded <= kept
            after = loads(pairs, [*where, (kind, machine)])
            bears = all(
                new <= max(old, limit)
                for old, new, limit in zip(before, after, pairs.link_limit.tolist(), strict=True)
            )
            assert fits[machine] == (allowed and bears)


@QUIET
@given(
    terms(), spots, st.lists(st.tuples(st.integers(0, KINDS - 1), st.integers(0, MACHINES - 1)), max_size=6)
)
def test_a_board_charges_what_the_total_grows_by(
    pairs: PairTerms, fixed: list[tuple[int, int]], put: list[tuple[int, int]]
) -> None:
    board = make_board(pairs, fixed)
    for kind, machine in put:
        board.put(kind, machine, float(board.row(kind)[0][machine]))
    crowding = sum(
        7 * count * (count - 1) // 2 for count in np.bincount([m for _, m in put], minlength=1).tolist()
    )
    if pairs.both_ways:
        assert board.cost == 100.0 * (total(pairs, fixed + put) - total(pairs, fixed)) + crowding
    for kind, machine in reversed(put):
        board.withdraw(kind, machine)
    assert abs(board.cost) < 1e-6


@QUIET
@given(
    terms(), spots, st.lists(st.tuples(st.integers(0, KINDS - 1), st.integers(0, MACHINES - 1)), max_size=6)
)
def test_limits_are_exceeded_where_tasks_are_that_could_not_be_added(
    pairs: PairTerms, fixed: list[tuple[int, int]], put: list[tuple[int, int]]
) -> None:
    board, where = make_board(pairs, fixed), fixed + put
    before = board.violations()
    twin = board.copy()
    for kind, machine in put:
        board.put(kind, machine, 1.0)
    expected = 0
    for kind, domain in {(kind, int(pairs.domain[machine])) for kind, machine in where}:
        exceeded, kept, inward = verdicts(pairs, where, kind, domain)
        expected += exceeded + inward > 0 if pairs.strict else exceeded > kept
    assert board.violations() == expected
    assert (twin.violations(), twin.cost, board.cost) == (before, 0.0, len(put)), (
        "a copy keeps its own places"
    )


@QUIET
@given(terms(links=True), spots, st.integers(0, KINDS - 1), st.integers(0, MACHINES - 1))
def test_a_copy_of_a_board_changes_by_itself(
    pairs: PairTerms, fixed: list[tuple[int, int]], kind: int, machine: int
) -> None:
    board = make_board(pairs, fixed)
    before = [[each.tolist() for each in board.row(other)] for other in range(KINDS)]
    twin = board.copy()
    twin.put(kind, machine, 0.0)
    after = [[each.tolist() for each in twin.row(other)] for other in range(KINDS)]
    assert [[each.tolist() for each in board.row(other)] for other in range(KINDS)] == before
    board.put(kind, machine, 0.0)
    assert [[each.tolist() for each in board.row(other)] for other in range(KINDS)] == after

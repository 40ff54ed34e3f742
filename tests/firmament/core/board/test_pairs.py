"""The books of pairs against counting pair by pair."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import Int64
from cost_models.pairs import PairTerms
from firmament.core.board.application import Application, PairBoard
from firmament.core.constraints.pairs import PairRules, PairState, link_load, pair_figure
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from tests.support.core import problem
from tests.support.effort import examples

QUIET = settings(max_examples=examples(60))
DOMAINS, KINDS, MACHINES = 3, 4, 5


@st.composite
def terms(draw: st.DrawFn, *, links: bool = False) -> PairTerms:
    """Pairs among four kinds over three domains, with any costs and limits."""
    figures = st.lists(st.integers(0, 9), min_size=DOMAINS**2, max_size=DOMAINS**2)
    cost = np.array(draw(figures), dtype=np.float64).reshape(DOMAINS, DOMAINS)
    rating = cost.copy()
    rating[np.diag_indices(DOMAINS)] = -np.inf
    rating[0, 1] = draw(st.sampled_from([np.nan, np.inf, 5.0]))
    kinds = st.integers(0, KINDS - 1)
    pairs = draw(
        st.lists(st.tuples(kinds, kinds, st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=6)
    )
    rows = np.array(pairs, dtype=np.int64)
    link = np.full((DOMAINS, DOMAINS), -1, dtype=np.int64)
    if links:
        link[0, 1], link[1, 0], link[0, 2], link[1, 2] = 0, 1, 2, 2
    return PairTerms(
        domain=np.array(draw(st.permutations([0, 0, 1, 1, 2])), dtype=np.int64),
        cost=cost,
        rating=rating,
        group=np.zeros(KINDS, dtype=np.int64),
        stage=np.arange(KINDS),
        source=rows[:, 0],
        target=rows[:, 1],
        limit=rows[:, 2].astype(np.float64),
        amount=rows[:, 3],
        link=link,
        link_limit=np.full(3 if links else 0, draw(st.integers(0, 20)), dtype=np.int64),
        both_ways=draw(st.booleans()),
        strict=draw(st.booleans()),
        bounded=links,
    )


spots = st.lists(st.tuples(st.integers(0, KINDS - 1), st.integers(0, MACHINES - 1)), max_size=10)


def total(pairs: PairTerms, where: list[tuple[int, int]]) -> float:
    """The figure of all pairs of different tasks, one by one."""
    found = 0.0
    for source, target in zip(pairs.source.tolist(), pairs.target.tolist(), strict=True):
        for (ours, here), (theirs, there) in itertools.permutations(where, 2):
            if (ours, theirs) == (source, target) and here != there:
                found += float(pairs.cost[pairs.domain[here], pairs.domain[there]])
    return found


def loads(pairs: PairTerms, where: list[tuple[int, int]]) -> list[int]:
    """What all pairs take from each link, one by one."""
    load = [0] * len(pairs.link_limit)
    for source, target, amount in zip(
        pairs.source.tolist(), pairs.target.tolist(), pairs.amount.tolist(), strict=True
    ):
        for (ours, here), (theirs, there) in itertools.permutations(where, 2):
            row = int(pairs.link[pairs.domain[here], pairs.domain[there]])
            if (ours, theirs) == (source, target) and row >= 0:
                load[row] += amount
    return load


def split(where: list[tuple[int, int]]) -> tuple[Int64, Int64]:
    """Kinds and machines."""
    both = np.array(where, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def rules(pairs: PairTerms, where: list[tuple[int, int]]) -> PairRules:
    """Every class is of the kind of its number."""
    return PairRules(pairs, 100.0, np.arange(KINDS), *split(where))


@QUIET
@given(terms(), spots)
def test_figure_of_all_pairs(pairs: PairTerms, where: list[tuple[int, int]]) -> None:
    assert pair_figure(pairs, *split(where)) == total(pairs, where)


@QUIET
@given(terms(links=True), spots, spots)
def test_links_are_booked_as_tasks_come_and_go(
    pairs: PairTerms, before: list[tuple[int, int]], come: list[tuple[int, int]]
) -> None:
    state = PairState(rules(pairs, before))
    for kind, machine in come:
        state.count(np.array([kind]), pairs.domain[[machine]], np.array([1]))
    assert state.load.tolist() == loads(pairs, before + come)
    assert link_load(pairs, state.counts).tolist() == state.load.tolist()
    for kind, machine in reversed(come):
        state.count(np.array([kind]), pairs.domain[[machine]], np.array([-1]))
    assert state.load.tolist() == loads(pairs, before)


@QUIET
@given(terms(links=True), spots)
def test_room_of_links_is_what_they_bear(pairs: PairTerms, where: list[tuple[int, int]]) -> None:
    state = PairState(rules(pairs, where))
    room = state.link_room(np.arange(KINDS))
    for kind, machine in itertools.product(range(KINDS), range(MACHINES)):
        before, after = loads(pairs, where), loads(pairs, [*where, (kind, machine)])
        grown = [
            new > old and new > limit for old, new, limit in zip(before, after, pairs.link_limit, strict=True)
        ]
        assert (room[kind, pairs.domain[machine]] > 0) == (not any(grown))


def _verdicts(pairs: PairTerms, where: list[tuple[int, int]], kind: int, domain: int) -> tuple[int, int, int]:
    """Own pairs that are exceeded and kept, and pairs in which the task is the target that are exceeded."""
    exceeded = kept = inward = 0
    for source, target, limit in zip(
        pairs.source.tolist(), pairs.target.tolist(), pairs.limit.tolist(), strict=True
    ):
        for other, machine in where:
            there = int(pairs.domain[machine])
            if source == kind and target == other:
                exceeded += bool(pairs.rating[domain, there] > limit)
                kept += bool(pairs.rating[domain, there] <= limit)
            if target == kind and source == other:
                inward += bool(pairs.rating[there, domain] > limit)
    return exceeded, kept, inward


@QUIET
@given(terms(), spots)
def test_domains_that_limits_close(pairs: PairTerms, where: list[tuple[int, int]]) -> None:
    view = PairState(rules(pairs, where)).view(np.arange(KINDS))
    for kind, domain in itertools.product(range(KINDS), range(DOMAINS)):
        exceeded, kept, inward = _verdicts(pairs, where, kind, domain)
        expected = exceeded + inward == 0 if pairs.strict else exceeded <= kept
        assert view.allowed[kind, domain] == expected


@QUIET
@given(terms(), spots, st.integers(0, KINDS - 1))
def test_cost_of_one_more_task(pairs: PairTerms, where: list[tuple[int, int]], kind: int) -> None:
    """On a machine of its own in a domain, with both ends charged, it is what the total grows by."""
    view = PairState(rules(pairs, where)).view(np.array([kind]))
    own = [(source, target) for source, target in zip(pairs.source, pairs.target, strict=True)]
    for domain in range(DOMAINS):
        expected = 0.0
        for (source, target), (other, machine) in itertools.product(own, where):
            there = int(pairs.domain[machine])
            expected += pairs.cost[domain, there] * (source == kind and target == other)
            expected += pairs.cost[there, domain] * (pairs.both_ways and target == kind and source == other)
        assert view.cost[0, domain] == 100.0 * expected


def make_board(pairs: PairTerms, fixed: list[tuple[int, int]]) -> PairBoard:
    """Return a board of all kinds, in a round that knows what is fixed."""
    made: PlacementProblem = problem(
        tasks=[10] * KINDS, requests=[[1]] * KINDS, free=[[100]] * MACHINES, crowd=7
    )
    kinds, machines = split(fixed)
    every = np.arange(MACHINES)
    return PairBoard(
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
            exceeded, kept, inward = _verdicts(pairs, where, kind, int(pairs.domain[machine]))
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

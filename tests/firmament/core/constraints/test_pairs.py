"""Pairs of tasks, their links and their limits, against counting pair by pair."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import Int64
from cost_models.pairs import PairTerms
from firmament.core.constraints.pairs import PairRules, PairState, link_load, pair_figure
from firmament.core.reasons import by_limit
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


def verdicts(pairs: PairTerms, where: list[tuple[int, int]], kind: int, domain: int) -> tuple[int, int, int]:
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
        exceeded, kept, inward = verdicts(pairs, where, kind, domain)
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


@QUIET
@given(terms(), spots, spots)
def test_tasks_that_come_cost_what_the_figure_of_all_pairs_grows_by(
    pairs: PairTerms, before: list[tuple[int, int]], come: list[tuple[int, int]]
) -> None:
    made, (kinds, machines) = rules(pairs, before), split(come)
    twice = np.full(len(come), 2)
    assert made.compute_figure() == total(pairs, before)
    assert made.compute_figure(kinds, machines, twice) == total(pairs, before + come + come)
    grown = total(pairs, before + come + come) - total(pairs, before)
    assert made.compute_cost(kinds, kinds, machines, twice) == 100.0 * grown


@QUIET
@given(terms(links=True), spots)
def test_machines_are_refused_for_limits_and_for_links_each_by_its_own_words(
    pairs: PairTerms, where: list[tuple[int, int]]
) -> None:
    pairs = replace(pairs, outvoted="outvoted", exceeded="exceeded", link_full="full")
    state, before = PairState(rules(pairs, where)), loads(pairs, where)
    for kind in range(KINDS):
        refused: dict[str, list[bool]] = {"limit": [], "link": []}
        for machine in range(MACHINES):
            exceeded, kept, inward = verdicts(pairs, where, kind, int(pairs.domain[machine]))
            refused["limit"].append(exceeded + inward > 0 if pairs.strict else exceeded > kept)
            after = loads(pairs, [*where, (kind, machine)])
            refused["link"].append(
                any(
                    new > max(old, most)
                    for old, new, most in zip(before, after, pairs.link_limit, strict=True)
                )
            )
        words = "exceeded" if pairs.strict else "outvoted"
        found = {reason: closed.tolist() for reason, closed in state.refusals(kind)}
        expected = {by_limit(words): refused["limit"]}
        if pairs.amount.any():
            expected[by_limit("full")] = refused["link"]
        assert found == expected
        some = np.array([MACHINES - 1, 0])
        assert [closed.tolist() for _, closed in state.refusals(kind, some)] == [
            [closed[row] for row in some] for closed in expected.values()
        ]
        for machine in range(MACHINES):
            open_to = not any(closed[machine] for closed in expected.values())
            assert state.allows(kind, machine) == open_to


def test_classes_of_no_kind_and_pairs_that_do_not_steer_are_let_alone():
    pairs = replace(ruled_apart(), steers=True)
    made = PairRules(pairs, 100.0, np.array([0, -1]), *split([(1, 0)]))
    state = PairState(made)
    assert made.find_paired(2).tolist() == [True, False]
    assert [state.involves(cls) for cls in range(2)] == [True, False]
    assert [state.allows(cls, 1) for cls in range(2)] == [False, True]
    assert state.refusals(1) == []
    assert state.cost_at(0, np.array([1, 0])).tolist() == [500.0, 0.0]
    assert state.cost_at(1, np.array([1, 0])).tolist() == [0.0, 0.0]
    reported = PairState(replace(made, terms=replace(pairs, steers=False)))
    assert reported.allows(0, 1)
    assert reported.refusals(0) == []
    assert reported.cost_at(0, np.array([1])).tolist() == [0.0]


def test_a_round_that_counts_no_pairs_begins_without_any():
    made = PairRules(ruled_apart(), 100.0, np.array([0, 1]), *split([(1, 0)]))
    assert made.begin(counting=True).counts.tolist() == [[0, 0], [1, 0]]
    assert not made.begin(counting=False).involves(0)
    twin = (state := made.begin(counting=True)).copy()
    twin.add(0, 0)
    assert state.counts.tolist() == [[0, 0], [1, 0]]
    assert twin.counts.tolist() == [[1, 0], [1, 0]]


def ruled_apart() -> PairTerms:
    """One pair of two kinds, for two machines in two domains, which must not be apart."""
    return PairTerms(
        domain=np.array([0, 1]),
        cost=np.array([[0.0, 5.0], [5.0, 0.0]]),
        rating=np.array([[0.0, 5.0], [5.0, 0.0]]),
        group=np.zeros(2, dtype=np.int64),
        stage=np.arange(2),
        source=np.array([0]),
        target=np.array([1]),
        limit=np.array([4.0]),
        amount=np.array([0]),
        link=np.full((2, 2), -1),
        link_limit=np.empty(0, dtype=np.int64),
    )

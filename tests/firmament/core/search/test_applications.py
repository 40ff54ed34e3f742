"""Whole applications are moved to where they cost least, against all placements of small ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cost_models.pairs import PairTerms
from firmament.core.board.board import Board
from firmament.core.constraints.pairs import PairRules, pair_figure
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.search.driver import SearchLog, Unsupported
from firmament.core.search.moves.application import improve_applications
from firmament.core.search.tuning import ApplicationTuning
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.histories.holding import SeatLedger
from tests.support.rules import counter, ints

UNITS = 100.0


def terms(
    domain: Sequence[int],
    cost: Sequence[Sequence[float]],
    pairs: Sequence[tuple[int, int]],
    kinds: int,
    **more: object,
) -> PairTerms:
    size = len(cost)
    given: dict[str, object] = {
        "domain": ints(*domain),
        "cost": np.array(cost, dtype=np.float64),
        "rating": np.array(cost, dtype=np.float64),
        "group": np.zeros(kinds, dtype=np.int64),
        "stage": np.arange(kinds),
        "source": ints(*(source for source, _ in pairs)),
        "target": ints(*(target for _, target in pairs)),
        "limit": np.full(len(pairs), 1e9),
        "amount": np.zeros(len(pairs), dtype=np.int64),
        "link": np.full((size, size), -1, dtype=np.int64),
        "link_limit": np.empty(0, dtype=np.int64),
        **more,
    }
    return PairTerms(**given)  # type: ignore[arg-type]  # fields by name


def with_pairs(
    made: PlacementProblem, pairs: PairTerms, kind: Sequence[int], residents: Sequence[tuple[int, int]] = ()
) -> PlacementProblem:
    where = np.array(residents, dtype=np.int64).reshape(-1, 2)
    return replace(made, pairs=PairRules(pairs, UNITS, ints(*kind), where[:, 0], where[:, 1]))


def improve(
    made: PlacementProblem, placed: Sequence[tuple[int, int]], tuning: ApplicationTuning | None = None
) -> tuple[list[tuple[int, int]], SearchLog]:
    """Where tasks (class, machine) are in the end."""
    board, log = Board(made), SearchLog()
    board.book(Assignments.from_single_tasks(list(placed)))
    found = improve_applications(
        board, board.pairs, Assignments.from_single_tasks(list(placed)), tuning or ApplicationTuning(), log
    )
    assert [cls for cls, _, _ in found.entries()] == [cls for cls, _ in placed]
    assert found.count.tolist() == [1] * len(placed)
    return [(cls, machine) for cls, machine, _ in found.entries()], log


def charge(made: PlacementProblem, placed: Sequence[tuple[int, int]]) -> float:
    """The units of a placement: models, crowding, and all pairs of tasks."""
    rules = made.pairs
    there = [0] * made.machines
    total = 0.0
    for cls, machine in placed:
        total += int(made.cost[made.shape[cls], machine]) + int(made.crowd[machine]) * there[machine]
        there[machine] += 1
    kinds = [int(rules.kind[cls]) for cls, _ in placed]
    known = [(kind, machine) for kind, (_, machine) in zip(kinds, placed, strict=True) if kind >= 0]
    kind = np.concatenate([rules.resident_kind, ints(*(each for each, _ in known))])
    where = np.concatenate([rules.resident_machine, ints(*(at for _, at in known))])
    return total + UNITS * pair_figure(rules.terms, kind, where)


def fits(made: PlacementProblem, placed: Sequence[tuple[int, int]]) -> bool:
    used = np.zeros_like(made.free)
    for cls, machine in placed:
        if not made.feasible[made.shape[cls], machine]:
            return False
        used[machine] += made.requests[made.shape[cls]]
    return bool((used <= made.free).all())


def cheapest(made: PlacementProblem, classes: Sequence[int]) -> float:
    choices = itertools.product(range(made.machines), repeat=len(classes))
    placements = (list(zip(classes, each, strict=True)) for each in choices)
    return min(charge(made, each) for each in placements if fits(made, each))


def draw(seed: int) -> tuple[PlacementProblem, list[tuple[int, int]]]:
    """A problem of one application, and a first placement."""
    rnd = random.Random(seed)
    kinds = rnd.randint(2, 3)
    pairs = [(a, b) for a, b in itertools.permutations(range(kinds), 2) if rnd.random() < 0.6] or [(0, 1)]
    cost = [[0 if a == b else rnd.randint(1, 9) for a in range(3)] for b in range(3)]
    tasks = [rnd.randint(1, 2) for _ in range(kinds)]
    made = problem(
        tasks=tasks,
        requests=[[1]] * kinds,
        free=[[2], [2], [rnd.randint(1, 2)], [1]],
        cost=[[rnd.randint(0, 300) for _ in range(4)] for _ in range(kinds)],
        crowd=rnd.choice((0, 50)),
    )
    residents = [(rnd.randrange(kinds), rnd.randrange(4))] if rnd.random() < 0.5 else []
    made = with_pairs(made, terms([0, 0, 1, 2], cost, pairs, kinds), range(kinds), residents)
    classes = [cls for cls, count in enumerate(tasks) for _ in range(count)]
    orders = itertools.permutations([0, 0, 1, 1, 2, 3], len(classes))
    placements = (list(zip(classes, each, strict=True)) for each in orders)
    return made, next(each for each in placements if fits(made, each))


def test_small_applications_cost_about_as_little_as_they_can():
    seeds, equal = examples(12, least=8), 0
    for seed in range(seeds):
        made, begin = draw(seed)
        found, (_, figures) = improve(made, begin)
        assert fits(made, found)
        assert figures.tried >= 40
        least = cheapest(made, [cls for cls, _ in begin])
        assert charge(made, found) <= 1.1 * least
        equal += charge(made, found) == pytest.approx(least)
    assert equal >= seeds - 1


def test_equal_arguments_give_equal_results():
    made, begin = draw(5)
    assert improve(made, begin)[0] == improve(made, begin)[0]


FAR = [[0.0, 5.0], [5.0, 0.0]]


def apart(**more: object) -> PlacementProblem:
    """Two kinds that talk to each other, on two machines in two domains."""
    made = problem(tasks=[1, 1], requests=[[1]] * 2, free=[[2]] * 2)
    return with_pairs(made, terms([0, 1], FAR, [(0, 1)], 2, **more), [0, 1])


def test_both_ends_come_together():
    found, log = improve(apart(), [(0, 0), (1, 1)])
    assert found[0][1] == found[1][1]
    assert [each.move for each in log] == ["application", "application"]


def test_classes_outside_of_applications_and_with_rules_stay():
    made = problem(tasks=[1] * 3, requests=[[1]] * 3, free=[[9]] * 2, cost=[[0, 5], [0, 5], [0, 5]])
    made = with_pairs(made, terms([0, 1], FAR, [(0, 1)], 2), [0, 1, -1])
    made = replace(made, rules=RuleSet([counter([0, 1])], {0: ClassRules(adds=(0,))}))
    found, log = improve(made, [(0, 1), (1, 0), (2, 1)])
    assert found == [(0, 1), (1, 1), (2, 1)], "the second joins the first, which has rules"
    assert log[0].unsupported == {Unsupported.RULES: 1}


def test_nothing_moves_with_ledgers():
    made = replace(apart(), ledgers=(SeatLedger(ints(9, 9), np.zeros(2, np.bool_)),))
    board, log = Board(made), SearchLog()
    placed = Assignments.from_single_tasks([(0, 0), (1, 1)])
    assert improve_applications(board, board.pairs, placed, ApplicationTuning(), log) is placed
    assert [each.unsupported for each in log] == [{Unsupported.LEDGERS: 2}]


def test_nothing_is_searched_without_placements():
    board, log = Board(apart()), SearchLog()
    placed = Assignments.empty()
    assert improve_applications(board, board.pairs, placed, ApplicationTuning(), log) is placed
    assert len(log) == 1


def test_limits_are_not_exceeded_for_less_cost():
    limited = apart(rating=np.array([[9.0, 0.0], [0.0, 9.0]]), limit=np.array([5.0]), strict=True)
    # Two tasks on one machine keep every limit, so each machine takes only one of them.
    made = replace(limited, free=np.array([[1], [1], [1], [1]]), feasible=np.ones((2, 4), np.bool_))
    made = replace(made, cost=np.zeros((2, 4), np.int32), crowd=np.zeros(4, np.int64))
    pairs = replace(limited.pairs.terms, domain=ints(0, 0, 1, 1))
    made = replace(made, pairs=replace(limited.pairs, terms=pairs))
    found, _ = improve(made, [(0, 0), (1, 2)])
    assert {found[0][1] // 2, found[1][1] // 2} == {0, 1}


@pytest.mark.parametrize(("budget", "moves"), [(0, False), (339, False), (341, True)])
def test_applications_are_searched_only_within_the_budget(budget: int, moves: bool):
    tuning = ApplicationTuning(moves=budget, small=10**6)
    found, log = improve(apart(), [(0, 0), (1, 1)], tuning)
    assert (found != [(0, 0), (1, 1)]) is moves
    assert len(log) == 1 + moves


def test_on_large_clusters_hosts_and_the_cheapest_of_each_domain_are_tried():
    made = problem(
        tasks=[1, 1],
        requests=[[1]] * 2,
        free=[[1], [2], [2], [2], [1]],
        cost=[[50, 40, 30, 20, 0], [50, 40, 30, 20, 0]],
    )
    made = with_pairs(made, terms([0, 0, 0, 0, 1], FAR, [(0, 1)], 2), [0, 1])
    tuning = ApplicationTuning(all_machines=4, per_domain=1)
    found, _ = improve(made, [(0, 0), (1, 4)], tuning)
    assert {machine for _, machine in found} == {3}

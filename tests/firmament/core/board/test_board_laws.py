"""A board keeps the laws of constraints for all that limits tasks together: room, limits, ledgers, rules and pairs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import JointRows
from cost_models.pairs import PairTerms
from firmament.core.board.board import Board
from firmament.core.constraints.pairs import PairRules
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.reasons import Reason
from tests.firmament.core.constraints.test_pairs import KINDS, MACHINES, terms
from tests.firmament.core.placement.rules import broken, ruled
from tests.support.effort import examples
from tests.support.histories.holding import SeatLedger
from tests.support.rules import counter, ints, spreading

seeds = st.integers(0, 2**32)
MANY = settings(max_examples=examples(120))


def random_problem(draw: Random, *, ledgers: bool = False) -> PlacementProblem:
    """Four classes on five machines: room, filters, pins, joint rows, rules, and ledgers if asked for."""
    classes, machines = 4, MACHINES
    counters = [counter(draw.choice([[0, 0, 1, 1, 2], [0, 1, 2, 3, 4]])) for _ in range(classes)]
    of = {}
    for cls in range(classes):
        other = draw.randrange(classes)
        of[cls] = ClassRules(
            adds=(cls,),
            exclusions=(Exclusion(other, Reason.TOO_NEAR),) if draw.random() < 0.3 else (),
            attraction=Attraction((other,), own=other == cls, reason=Reason.NOT_NEAR)
            if draw.random() < 0.3
            else None,
            spreadings=(spreading(cls, counters[cls].domain.tolist()),) if draw.random() < 0.3 else (),
        )
    rows = JointRows(
        ints(*(draw.randint(-1, 2) for _ in range(machines))),
        ints(*(draw.randint(0, 3) for _ in range(classes))),
        ints(*(draw.randint(0, 6) for _ in range(3))),
        "node(s) were full",
    )
    made = ruled(
        counters,
        of if draw.random() < 0.8 else {},
        tasks=[9] * classes,
        requests=[[draw.randint(0, 3), draw.randint(0, 2)] for _ in range(classes)],
        free=[[draw.randint(-1, 9), draw.randint(0, 9)] for _ in range(machines)],
        feasible=[[draw.random() < 0.8 for _ in range(machines)] for _ in range(classes)],
        pins={0: sorted(draw.sample(range(machines), 3))} if draw.random() < 0.5 else {},
        joint=[rows] if draw.random() < 0.6 else [],
    )
    if ledgers:
        seats = ints(*(draw.randint(0, 3) for _ in range(machines)))
        made = replace(made, ledgers=(SeatLedger(seats, np.array([True, False, True, False])),))
    return made


@st.composite
def boards(draw: st.DrawFn) -> tuple[Board, Random]:
    """A board of any kind with some tasks on it, all of which fitted when they came."""
    random = Random(draw(seeds))
    problem = random_problem(random, ledgers=draw(st.booleans()))
    if draw(st.booleans()):
        none = np.empty(0, dtype=np.int64)
        pairs: PairTerms = draw(terms(links=draw(st.booleans())))
        problem = replace(problem, pairs=PairRules(pairs, 100.0, np.arange(KINDS), none, none))
    board = Board(problem)
    for _ in range(6):
        cls, machine = random.randrange(problem.classes), random.randrange(problem.machines)
        if board.fits(cls, machine):
            board.place(cls, machine)
    return board, random


def verdicts(board: Board) -> list[object]:
    """All that a board answers, and what it has left."""
    every = np.arange(board.problem.machines)
    found: list[object] = [board.residual.free.tolist(), board.residual.placed.tolist()]
    for cls in range(board.problem.classes):
        found += [
            board.find_fitting(cls, paired=False).tolist(),
            board.find_fitting(cls).tolist(),
            board.count_fitting(cls, every).tolist(),
        ]
    return found


@MANY
@given(boards())
def test_what_is_asked_of_one_machine_of_some_and_of_all_agrees(given_board: tuple[Board, Random]):
    board, random = given_board
    machines = board.problem.machines
    some = np.array([random.randrange(machines) for _ in range(3)])
    for cls in range(board.problem.classes):
        singly = [board.fits(cls, machine) for machine in range(machines)]
        assert board.find_fitting(cls).tolist() == singly
        assert (board.count_fitting(cls, some) > 0).tolist() == [singly[machine] for machine in some.tolist()]
        without_pairs = [board.fits(cls, machine, paired=False) for machine in range(machines)]
        assert board.find_fitting(cls, paired=False).tolist() == without_pairs


@MANY
@given(boards())
def test_what_is_placed_and_given_back_leaves_no_trace(given_board: tuple[Board, Random]):
    board, random = given_board
    before = verdicts(board)
    tasks = [
        (random.randrange(board.problem.classes), random.randrange(board.problem.machines)) for _ in range(3)
    ]
    if board.problem.ledgers:
        with pytest.raises(ValueError, match="gives nothing back"):
            board.give_back(*tasks[0])
        return
    for cls, machine in tasks:
        board.place(cls, machine)
    board.place(*tasks[0], 2)
    tasks += tasks[:1] * 2
    random.shuffle(tasks)
    for cls, machine in tasks:
        board.give_back(cls, machine)
    assert verdicts(board) == before


@MANY
@given(boards())
def test_the_order_in_which_tasks_come_does_not_matter(given_board: tuple[Board, Random]):
    board, random = given_board
    tasks = [
        (random.randrange(board.problem.classes), random.randrange(board.problem.machines)) for _ in range(3)
    ]
    one, other = board.copy(), board.copy()
    for cls, machine in tasks:
        one.place(cls, machine)
    for cls, machine in reversed(tasks):
        other.place(cls, machine)
    if not board.problem.ledgers:  # which take of what is left, and count on the order
        assert verdicts(one) == verdicts(other)


@MANY
@given(boards())
def test_a_copy_is_independent(given_board: tuple[Board, Random]):
    board, random = given_board
    before = verdicts(board)
    twin = board.copy()
    assert verdicts(twin) == before
    twin.place(random.randrange(board.problem.classes), random.randrange(board.problem.machines))
    twin.book(Assignments.single(random.randrange(board.problem.classes), 0))
    assert verdicts(board) == before


@MANY
@given(seeds)
def test_who_fits_breaks_nothing_and_who_does_not_would(seed: int):
    random = Random(seed)
    problem = random_problem(random)
    board, placed = Board(problem), list[tuple[int, int]]()
    for _ in range(12):
        cls, machine = random.randrange(problem.classes), random.randrange(problem.machines)
        after = [*placed, (cls, machine)]
        assert board.fits(cls, machine) == (not broken(problem, after) and not _overrun(problem, after))
        if board.fits(cls, machine):
            board.place(cls, machine)
            placed = after


def _overrun(problem: PlacementProblem, placed: list[tuple[int, int]]) -> bool:
    """Whether the last task finds too little left of a joint row."""
    last, there = placed[-1]
    for rows in problem.joint:
        row = int(rows.row_of[there])
        taken = sum(int(rows.amount[cls]) for cls, machine in placed if rows.row_of[machine] == row)
        if row >= 0 and rows.amount[last] and taken > rows.limit[row]:
            return True
    return False


@MANY
@given(boards())
def test_booking_many_is_placing_each(given_board: tuple[Board, Random]):
    board, random = given_board
    tasks = [
        (random.randrange(board.problem.classes), random.randrange(board.problem.machines)) for _ in range(3)
    ]
    one, other = board.copy(), board.copy()
    one.book(Assignments.from_single_tasks(tasks))
    for cls, machine in tasks:
        other.place(cls, machine)
        other.residual.take_one(cls)
    assert verdicts(one) == verdicts(other)
    assert one.residual.remaining.tolist() == other.residual.remaining.tolist()


@MANY
@given(boards())
def test_what_does_not_fit_is_refused_for_some_reason_or_lacks_resources(given_board: tuple[Board, Random]):
    board, _ = given_board
    problem = board.problem
    for cls in range(problem.classes):
        request = problem.requests[cls]
        enough = ((request <= board.residual.free.T) | (request == 0)).all(axis=1)
        refused = np.zeros(problem.machines, dtype=np.bool_)
        for _, machines in board.refusals(cls):
            refused |= machines
        usable = problem.limit_to_pins(cls, problem.feasible[cls])
        assert board.find_fitting(cls).tolist() == (usable & enough & ~refused).tolist()


@MANY
@given(boards())
def test_the_problem_of_what_is_left_begins_where_the_board_stands(given_board: tuple[Board, Random]):
    board, _ = given_board
    again = Board(board.remaining_problem(board.residual.remaining))
    assert again.residual.free.tolist() == board.residual.free.tolist()
    for cls in range(board.problem.classes):
        assert (
            again.find_fitting(cls, paired=False).tolist() == board.find_fitting(cls, paired=False).tolist()
        )

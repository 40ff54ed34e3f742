"""Figures of pairs, and limits of models, against counting task by task."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import JointRows
from cost_models.pairs import PairTerms
from firmament.core.constraints.model_limits import ModelLimits, RemainingJointCapacity
from firmament.core.constraints.pairs import PairRules, PairState, pair_figure
from tests.firmament.core.constraints.test_pairs import KINDS, MACHINES, spots, terms, total
from tests.support.effort import examples
from tests.support.histories.holding import SeatLedger
from tests.support.rules import ints

MANY = settings(max_examples=examples(150))
NONE = np.empty(0, dtype=np.int64)
EVERY = np.arange(KINDS)


def rules_of(pairs: PairTerms, kind: list[int] | None = None) -> PairRules:
    return PairRules(pairs, 100.0, EVERY if kind is None else ints(*kind), NONE, NONE)


@MANY
@given(terms(links=False), spots)
def test_the_figure_of_all_pairs_is_that_of_each(pairs: PairTerms, where: list[tuple[int, int]]):
    figure = pair_figure(pairs, ints(*(kind for kind, _ in where)), ints(*(at for _, at in where)))
    assert figure == pytest.approx(total(pairs, where))


def test_two_tasks_on_one_machine_cost_nothing_and_the_same_two_apart_do(plain_terms: PairTerms):
    assert pair_figure(plain_terms, ints(0, 1), ints(0, 0)) == 0.0
    assert pair_figure(plain_terms, ints(0, 1), ints(0, 1)) == 3.0
    assert pair_figure(plain_terms, ints(0, 0, 1, 1, 1), ints(0, 1, 0, 0, 1)) == 3.0 * 3


@pytest.fixture
def plain_terms() -> PairTerms:
    """One pair of two kinds; to be in one domain, but not on one machine, costs 3."""
    return PairTerms(
        domain=ints(0, 0, 1),
        cost=np.array([[3.0, 8.0], [8.0, 3.0]]),
        rating=np.array([[0.0, 8.0], [8.0, 0.0]]),
        group=ints(0, 0),
        stage=ints(0, 1),
        source=ints(0),
        target=ints(1),
        limit=np.array([5.0]),
        amount=ints(0),
        link=np.full((2, 2), -1, dtype=np.int64),
        link_limit=NONE,
    )


def test_residents_are_those_of_a_kind(plain_terms: PairTerms):
    rules = rules_of(plain_terms, [1, -1, 0]).add_residents(ints(0, 1, 2, 2), ints(2, 1, 0, 1))
    assert rules.resident_kind.tolist() == [1, 0, 0]
    assert rules.resident_machine.tolist() == [2, 0, 1]
    assert rules.counts().tolist() == [[2, 0], [0, 1]]
    assert rules.add_residents(ints(2), ints(2)).counts().tolist() == [[2, 1], [0, 1]]


@MANY
@given(terms(links=True), spots)
def test_counting_many_is_counting_each_and_classes_of_no_kind_do_not_count(
    pairs: PairTerms, where: list[tuple[int, int]]
):
    rules = rules_of(pairs, [*range(KINDS), -1])
    one, other = PairState(rules), PairState(rules)
    strangers = [(KINDS, machine) for machine in range(MACHINES)]
    tasks = [*where, *strangers]
    one.add_all(ints(*(cls for cls, _ in tasks)), ints(*(at for _, at in tasks)), np.full(len(tasks), 2))
    for cls, machine in where:
        other.add(cls, machine, 2)
    assert one.counts.tolist() == other.counts.tolist()
    assert one.load.tolist() == other.load.tolist()


def test_a_kind_that_is_paired_with_itself_is_known(plain_terms: PairTerms):
    assert PairState(rules_of(plain_terms)).self_paired(ints(0, 1)).tolist() == [False, False]
    own = PairTerms(
        **{name: getattr(plain_terms, name) for name in PairTerms.__slots__ if name != "target"},
        target=ints(0),
    )
    assert PairState(rules_of(own)).self_paired(ints(1, 0, 0)).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("changed", "hard", "limited"),
    [
        ({}, True, False),
        ({"limit": np.array([9.0])}, False, False),
        ({"limit": np.array([8.0])}, False, False),
        ({"strict": True}, True, True),
        ({"strict": True, "steers": False}, True, False),
        ({"limit": np.array([9.0]), "strict": True}, False, True),
        ({"limit": np.array([9.0]), "bounded": True}, False, False),
        ({"limit": np.array([9.0]), "bounded": True, "link_limit": ints(4)}, False, False),
        (
            {"limit": np.array([9.0]), "bounded": True, "link_limit": ints(4), "amount": ints(2)},
            True,
            True,
        ),
    ],
)
def test_pairs_close_machines_by_limits_that_may_not_be_exceeded_or_are(
    plain_terms: PairTerms, changed: dict[str, object], hard: bool, limited: bool
):
    fields = {name: getattr(plain_terms, name) for name in PairTerms.__slots__}
    rules = rules_of(PairTerms(**{**fields, **changed}))
    assert (rules.hard, rules.limited, rules.closes) == (hard, limited, hard or limited)


# --- limits of models ------------------------------------------------------------------------------------------------


def test_tasks_take_of_the_row_of_their_machine_and_give_it_back():
    room = RemainingJointCapacity.from_rows(JointRows(ints(-1, 0, 1, 1), ints(0, 2, 3), ints(5, 6), "full"))
    room.add(1, 1, 2)
    room.add(2, 3, 1)
    room.add(2, 0, 9)
    assert room.left.tolist() == [1, 3]
    assert [room.fits(1, machine) for machine in range(4)] == [True, False, True, True]
    assert [room.fits(2, machine) for machine in range(4)] == [True, False, True, True]
    assert room.fits(0, 1)
    room.add(1, 1, -1)
    assert room.left.tolist() == [3, 3]


@MANY
@given(st.integers(0, 2**32))
def test_tasks_are_crowded_where_not_all_of_them_have_room(seed: int):
    random = Random(seed)
    rows = JointRows(
        ints(*(random.randint(-1, 1) for _ in range(4))),
        ints(*(random.randint(0, 2) for _ in range(3))),
        ints(random.randint(0, 4), random.randint(0, 4)),
        "full",
    )
    seats = [random.randint(0, 2) for _ in range(4)]
    seated = [random.random() < 0.5 for _ in range(3)]
    limits = ModelLimits([rows], [SeatLedger(ints(*seats), np.array(seated))], np.arange(3))
    tasks = [(random.randrange(3), random.randrange(4)) for _ in range(random.randint(0, 6))]
    crowded = limits.find_crowded(ints(*(cls for cls, _ in tasks)), ints(*(at for _, at in tasks)))
    for (cls, at), found in zip(tasks, crowded.tolist(), strict=True):
        row = int(rows.row_of[at])
        taken = sum(int(rows.amount[other]) for other, where in tasks if rows.row_of[where] == row)
        overfull = row >= 0 and rows.amount[cls] > 0 and taken > rows.limit[row]
        sitting = sum(seated[other] for other, where in tasks if where == at)
        assert found == (overfull or sitting > seats[at])
    again = limits.find_crowded(ints(*(cls for cls, _ in tasks)), ints(*(at for _, at in tasks)))
    assert again.tolist() == crowded.tolist(), "asking books nothing"


@MANY
@given(terms(links=False), spots, st.integers(0, KINDS))
def test_what_one_more_task_costs_is_what_the_figure_grows_by(
    pairs: PairTerms, where: list[tuple[int, int]], cls: int
):
    """On a machine without any task, as tasks on one machine cost each other nothing."""
    rules = rules_of(pairs, [*range(KINDS), -1])
    state = PairState(rules)
    others = [(kind, at) for kind, at in where if at < MACHINES - 1]
    for kind, at in others:
        state.add(kind, at)
    (cost,) = state.cost_at(cls, ints(MACHINES - 1)).tolist()
    grown = 0.0 if cls == KINDS else total(pairs, [*others, (cls, MACHINES - 1)]) - total(pairs, others)
    if pairs.both_ways or cls == KINDS:
        assert cost == pytest.approx(grown * rules.units)
    else:  # only what the task itself asks for
        own = sum(
            float(pairs.cost[pairs.domain[MACHINES - 1], pairs.domain[at]])
            for source, target in zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)
            for kind, at in others
            if (source, target) == (cls, kind)
        )
        assert cost == pytest.approx(own * rules.units)


def test_a_ledger_takes_none_back_but_none_may_be_taken():
    limits = ModelLimits((), (SeatLedger(ints(3), np.ones(1, dtype=np.bool_)),), ints(0))
    limits.add(0, 0, 0)
    with pytest.raises(ValueError, match="gives nothing back"):
        limits.add(0, 0, -1)

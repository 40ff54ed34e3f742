"""Which tasks stay where they are while others change places, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import Int64, JointRows
from cost_models.pairs import PairTerms
from firmament.core.constraints.pairs import PairRules
from firmament.core.constraints.ruleset import ClassRules
from firmament.core.flow.problem import PlacementProblem
from firmament.core.search.driver import Unsupported
from firmament.core.search.movable import UNBOUNDED, find_movable, find_staying
from tests.firmament.core.placement.rules import apart, ruled
from tests.support.core import problem
from tests.support.histories.holding import SeatLedger
from tests.support.rules import counter, ints


class OpenLedger(SeatLedger):
    """Keeps no account of who takes no seat."""

    def count_room(self, shape: int) -> Int64:
        return super().count_room(shape) if self.seated[shape] else np.full(len(self.seats), UNBOUNDED)


@pytest.fixture
def plain() -> PlacementProblem:
    """Four classes on three machines."""
    return problem(tasks=[1] * 4, requests=[[1], [2], [1], [3]], free=[[9]] * 3)


def staying(made: PlacementProblem, *, sharing: bool = True) -> dict[Unsupported, list[int]]:
    """Classes that stay, by reason; whoever stays for none of them is movable."""
    found = find_staying(made, sharing=sharing)
    kept = sorted({cls for each in found.values() for cls in np.flatnonzero(each).tolist()})
    assert np.flatnonzero(~find_movable(made, found)).tolist() == kept
    return {reason: np.flatnonzero(each).tolist() for reason, each in found.items()}


def rows_of(row_of: list[int], amount: list[int], limit: list[int]) -> JointRows:
    return JointRows(ints(*row_of), ints(*amount), ints(*limit), "node(s) were full")


def test_nobody_stays_without_a_reason(plain: PlacementProblem):
    assert staying(plain) == {}


@pytest.mark.parametrize("rules", [apart(0), ClassRules(adds=(0,))])
def test_who_minds_others_or_is_minded_stays(rules: ClassRules):
    made = ruled([counter([0, 1, 2])], {1: rules}, tasks=[1] * 3, requests=[[1]] * 3, free=[[9]] * 3)
    assert staying(made) == {Unsupported.RULES: [1]}


def test_members_of_pairs_stay(plain: PlacementProblem):
    none = np.empty(0, dtype=np.int64)
    pairs = PairRules(PairTerms.__new__(PairTerms), 100.0, ints(-1, 0, 3, -1), none, none)
    assert staying(replace(plain, pairs=pairs)) == {Unsupported.PAIRS: [1, 2]}


def test_pinned_and_bounded_classes_stay(plain: PlacementProblem):
    made = replace(plain, pins={2: ints(0)}, most={0: 1, 3: 1})
    assert staying(made) == {Unsupported.PINS: [2], Unsupported.LIMITS: [0, 3]}


def test_who_takes_of_a_row_that_machines_share_stays_if_asked_for(plain: PlacementProblem):
    alone, shared = rows_of([0, 1, 2], [0, 1, 0, 0], [5] * 3), rows_of([0, 0, -1], [0, 0, 1, 2], [5])
    assert staying(replace(plain, joint=(alone,))) == {}
    made = replace(plain, joint=(shared, alone), most={0: 1})
    assert staying(made) == {Unsupported.LIMITS: [0, 2, 3]}
    assert staying(made, sharing=False) == {Unsupported.LIMITS: [0]}


def test_those_stay_of_whom_a_ledger_keeps_an_account(plain: PlacementProblem):
    ledger = OpenLedger(ints(1, 1, 1), np.array([True, False, True, False]))
    assert staying(replace(plain, ledgers=(ledger,))) == {Unsupported.LEDGERS: [0, 2]}


def test_ledgers_are_not_asked_about_those_who_stay_anyway(plain: PlacementProblem):
    ledger = OpenLedger(ints(1, 1, 1), np.array([True, False, True, False]))
    made = replace(plain, ledgers=(ledger,), pins={0: ints(0)})
    assert staying(made) == {Unsupported.PINS: [0], Unsupported.LEDGERS: [2]}

"""How many tasks of a class go to which domain, dealt out before anything is solved."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion, Inclination, RuleSet
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.waves import CellShares, coarse_topologies
from firmament.core.reasons import Reason
from tests.firmament.core.placement.rules import apart, ruled, together
from tests.support.core import problem
from tests.support.rules import counter, soft_spreading, spreading

ZONE = [0, 0, 1, 1, 2, 2]
HOST = [0, 1, 2, 3, 4, 5]
FREE = [[9]] * 6


class Deal:
    """A cell_shares and what it deals to the classes of a problem, one after another."""

    def __init__(self, given: PlacementProblem) -> None:
        state = Board(given)
        self.residual, self.state = state.residual, state.rules
        self.cell_shares = CellShares(state)

    def to(self, cls: int = 0, *closed: int) -> dict[tuple[int, ...], int]:
        """Tasks by machines, of which ``closed`` are not open to the class."""
        open_to = np.ones(self.residual.problem.machines, dtype=np.bool_)
        open_to[list(closed)] = False
        rules = self.state.rules
        topologies = coarse_topologies(rules.rules(cls), rules)
        shares = self.cell_shares.share_tasks(cls, open_to, topologies)
        assert all(share.count > 0 for share in shares)
        return {tuple(share.machines.tolist()): share.count for share in shares}


def spread_over(start: list[int] | None = None, tasks: int = 6, max_skew: int = 1, **more: object) -> Deal:
    rules = ClassRules(adds=(0,), spreadings=(spreading(0, ZONE, max_skew=max_skew),))
    return Deal(
        ruled(
            [counter(ZONE, start)], {0: rules}, **{"tasks": [tasks], "requests": [[1]], "free": FREE, **more}
        )
    )


# --- topologies ------------------------------------------------------------------------------------------------------


def test_topologies_on_which_a_class_is_dealt_out():
    counters = [counter(ZONE), counter(HOST), counter([0] * 6), counter(ZONE)]
    rules = RuleSet(counters, {})

    def found(own: ClassRules) -> list[list[int]]:
        return [domain.tolist() for domain in coarse_topologies(own, rules)]

    assert found(ClassRules(adds=(0,), inclinations=(Inclination(0, 5),))) == []
    assert found(apart(1)) == []
    assert found(apart(0, 1, 3)) == [ZONE]
    assert found(ClassRules(attraction=Attraction((2, 0), own=True, reason=Reason.NOT_NEAR))) == [
        [0] * 6,
        ZONE,
    ]
    assert found(ClassRules(spreadings=(spreading(0, ZONE), spreading(1, HOST)))) == [ZONE]
    assert found(ClassRules(soft_spreadings=(soft_spreading(3, ZONE),))) == [ZONE]


def test_without_a_topology_all_machines_get_all_tasks():
    deal = Deal(ruled([], {}, tasks=[7], requests=[[1]], free=FREE))
    assert deal.to(0, 1, 3, 4, 5) == {(0, 2): 7}
    assert deal.to(0, *range(6)) == {}


# --- spread ----------------------------------------------------------------------------------------------------------


def test_spread_tasks_go_to_the_emptiest_domain():
    assert spread_over().to() == {(0, 1): 2, (2, 3): 2, (4, 5): 2}
    assert spread_over([3, 0, 1]).to() == {(0, 1): 1, (2, 3): 3, (4, 5): 2}
    assert spread_over([3, 0, 1], tasks=2).to() == {(2, 3): 2}


def test_no_more_are_dealt_than_the_skew_allows():
    # nothing may go to the third zone, so the others may have one each
    assert spread_over().to(0, 4, 5) == {(0, 1): 1, (2, 3): 1}
    assert spread_over(max_skew=2).to(0, 4, 5) == {(0, 1): 2, (2, 3): 2}


def test_no_more_are_dealt_than_there_is_room_for():
    assert spread_over(free=[[1]] * 6, max_skew=9, tasks=9).to() == {(0, 1): 2, (2, 3): 2, (4, 5): 2}
    assert spread_over(free=[[0], [0], [3], [3], [3], [3]]).to() == {(2, 3): 1, (4, 5): 1}


def test_cheaper_domains_come_first_among_equals():
    assert spread_over(tasks=1, cost=[[5, 5, 3, 3, 9, 9]]).to() == {(2, 3): 1}
    assert spread_over([0, 1, 0], tasks=1, cost=[[5, 5, 3, 3, 9, 9]]).to() == {(0, 1): 1}


def test_what_the_round_has_placed_makes_a_domain_dearer():
    deal = spread_over(tasks=1, crowd=2)
    deal.residual.placed[:2] = 3
    deal.residual.placed[4:] = 1
    assert deal.to() == {(2, 3): 1}


def test_preferred_spread_deals_to_all_domains():
    rules = ClassRules(adds=(0,), soft_spreadings=(soft_spreading(0, ZONE),))
    deal = Deal(ruled([counter(ZONE, [2, 0, 0])], {0: rules}, tasks=[4], requests=[[1]], free=FREE))
    assert deal.to() == {(2, 3): 2, (4, 5): 2}


def test_machines_in_no_domain_are_a_cell_of_their_own():
    domain = [0, 0, 1, 1, -1, -1]
    deal = Deal(ruled([counter(domain)], {0: apart(0)}, tasks=[9], requests=[[1]], free=FREE))
    assert deal.to() == {(0, 1): 1, (2, 3): 1, (4, 5): 2}, "one per machine where nothing excludes"


# --- gathering -------------------------------------------------------------------------------------------------------


def test_a_group_begins_where_there_is_room_for_all():
    deal = Deal(
        ruled(
            [counter(ZONE)], {0: together(0)}, tasks=[8], requests=[[1]], free=[[2], [2], [5], [5], [9], [0]]
        )
    )
    assert deal.to() == {(2, 3): 8}


def test_a_group_that_fits_nowhere_goes_where_most_of_it_fits():
    deal = Deal(
        ruled(
            [counter(ZONE)], {0: together(0)}, tasks=[30], requests=[[1]], free=[[2], [2], [5], [5], [9], [0]]
        )
    )
    assert deal.to() == {(2, 3): 10}


def test_a_group_stays_where_it_is():
    deal = Deal(ruled([counter(ZONE, [0, 0, 1])], {0: together(0)}, tasks=[3], requests=[[1]], free=FREE))
    assert deal.to() == {(4, 5): 3}


# --- exclusion -------------------------------------------------------------------------------------------------------


def test_tasks_that_exclude_their_like_get_a_domain_each():
    deal = Deal(ruled([counter(ZONE)], {0: apart(0)}, tasks=[5], requests=[[1]], free=FREE))
    assert deal.to() == {(0, 1): 1, (2, 3): 1, (4, 5): 1}


def test_the_second_class_sees_where_the_first_is_going():
    rules = {
        0: ClassRules(adds=(0,), exclusions=(Exclusion(1, Reason.TOO_NEAR),)),
        1: ClassRules(adds=(1,), exclusions=(Exclusion(0, Reason.TOO_NEAR),)),
    }
    deal = Deal(ruled([counter(ZONE), counter(ZONE)], rules, tasks=[6, 6], requests=[[1]] * 2, free=FREE))
    first = deal.to(0)
    assert first == {(0, 1): 6}, "in as few domains as possible"
    assert deal.to(1) == {(2, 3): 6}
    assert deal.state.totals == [0, 0], "nothing has been placed yet"


def test_what_earlier_classes_take_of_a_domain_is_no_longer_there():
    rules = {cls: together(cls) for cls in range(3)}
    counters = [counter(ZONE) for _ in rules]
    deal = Deal(ruled(counters, rules, tasks=[12] * 3, requests=[[1]] * 3, free=FREE))
    assert [deal.to(cls) for cls in range(3)] == [{(0, 1): 12}, {(2, 3): 12}, {(4, 5): 12}]


@pytest.mark.parametrize("machines", [0, 1])
def test_few_machines(machines: int):
    given = problem(tasks=[2], requests=[[1]], free=[[5]] * machines) if machines else None
    if given is None:
        deal = Deal(ruled([counter([], [0])], {0: together(0)}, tasks=[2], requests=[[1]], free=[]))
        assert deal.to() == {}
        return
    deal = Deal(ruled([counter([0])], {0: together(0)}, tasks=[2], requests=[[1]], free=[[5]]))
    assert deal.to() == {(0,): 2}

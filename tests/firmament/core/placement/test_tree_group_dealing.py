"""Tasks of a group dealt to counted places: neighbours next to each other, and whoever may use few places gets one."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments
from firmament.core.placement.tree_groups.placer import SelectiveClasses, assign_places
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples
from tests.support.rules import ints

SOLVER = OrToolsSolver()


def places_of(found: Assignments) -> dict[int, list[int]]:
    """Machines by class, in order."""
    return {
        cls: np.repeat(found.machine[found.cls == cls], found.count[found.cls == cls]).tolist()
        for cls in np.unique(found.cls).tolist()
    }


def test_neighbours_stand_next_to_each_other_in_the_order_of_the_tree():
    slots = np.full((2, 3), 9)
    found = assign_places(ints(4, 7, 7, 4), ints(2, 0, 2), ints(30, 20, 10), slots, slots, SOLVER)
    assert found is not None
    assert places_of(found) == {4: [30, 10], 7: [30, 10]}


def test_whoever_may_use_few_places_gets_one_of_them():
    slots = np.array([[0, 0, 1], [2, 2, 2]])
    found = assign_places(
        ints(0, 1, 1, 1), ints(2, 1, 1), ints(0, 1, 2), slots, np.zeros((2, 3), np.int64), SOLVER
    )
    assert found is not None
    assert places_of(found) == {0: [2], 1: [0, 0, 1]}


@settings(max_examples=examples(150))
@given(data=st.data())
def test_a_way_is_found_whenever_there_is_one(data: st.DataObject):
    classes, leaves = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    order = ints(*data.draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=5)))
    cells = st.lists(st.integers(0, 3), min_size=leaves, max_size=leaves)
    present = len(np.unique(order))
    slots = np.array(data.draw(st.lists(cells, min_size=present, max_size=present)), dtype=np.int64)
    at = data.draw(st.lists(st.integers(0, leaves - 1), min_size=len(order), max_size=len(order)))
    places = np.bincount(at, minlength=leaves)
    found = assign_places(order, places, np.arange(leaves), slots, slots, SOLVER)
    ways = set(itertools.permutations(np.repeat(np.arange(leaves), places).tolist()))
    fitting = [way for way in ways if _fits(order, way, slots)]
    assert (found is None) == (not fitting)
    if found is not None:
        used = np.bincount(found.machine, weights=found.count, minlength=leaves)
        assert used.tolist() == places.tolist()
        for row, cls in enumerate(np.unique(order).tolist()):
            mine = np.bincount(
                found.machine[found.cls == cls], weights=found.count[found.cls == cls], minlength=leaves
            )
            assert (mine <= slots[row]).all()
            assert mine.sum() == np.count_nonzero(order == cls)


def _fits(order: Int64, way: tuple[int, ...], slots: Int64) -> bool:
    for row, cls in enumerate(np.unique(order).tolist()):
        mine = [leaf for task, leaf in zip(order.tolist(), way, strict=True) if task == cls]
        if any(mine.count(leaf) > slots[row, leaf] for leaf in mine):
            return False
    return True


def test_selective_classes_try_their_cheapest_leaf_first_and_spill_over_to_the_next():
    slots = np.array([[0, 2, 1, 2], [5, 5, 5, 5]])
    cost = np.array([[0, 9, 1, 5], [0, 0, 0, 0]])
    starts = [taken.tolist() for taken in SelectiveClasses(ints(3, 3, 8), slots, cost).starts()]
    assert starts == [[0, 0, 1, 1], [0, 0, 0, 2], [0, 2, 0, 0]]

"""What a pass leaves is placed task by task, against a plain replay that shares no code."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import JointRows
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem, Residual
from firmament.core.placement import passes
from firmament.core.placement.admission import admit
from firmament.core.placement.cost import placement_cost
from firmament.core.placement.fallback import completion
from firmament.core.placement.fallback.completion import completed
from firmament.core.placement.local_search.size_exchange import levelled
from firmament.core.placement.outcome import Means
from firmament.core.placement.passes import place_all
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.property.problems import SEEDS, as_dict, placement_problem, plain
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.heights import with_heights


def begun(seed: int) -> Residual:
    """A problem on which up to one task of each class has been placed."""
    random = np.random.default_rng(seed)
    residual = Residual(placement_problem(seed, 4, 12, tasks=1))
    picture = plain(residual)
    chosen = [
        (cls, machine)
        for cls, machine in enumerate(random.integers(0, 12, 4).tolist())
        if seed % 2 and picture.units(cls, machine) > 0
    ]
    cls, machine = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    admit(residual, Assignments(cls, machine, np.ones(len(chosen), dtype=np.int64)))
    return residual


def replayed(residual: Residual, placed: Assignments) -> None:
    """Every task went where it cost least by then, of the machines with room; the more important and older first."""
    picture = plain(residual)
    taken = [0] * len(picture.free)
    turns: list[tuple[int, int]] = []
    for cls, machine in zip(placed.cls.tolist(), placed.machine.tolist(), strict=True):
        shape = picture.shape[cls]
        dear = {
            each: picture.cost[shape][each] + picture.crowding(each, taken[each])
            for each in picture.machines
            if picture.units(cls, each) > 0
        }
        assert dear[machine] == min(dear.values())
        taken[machine] += 1
        for k, amount in enumerate(picture.requests[shape]):
            picture.free[machine][k] -= amount
        for joint in picture.joint:
            if joint.row_of[machine] >= 0:
                joint.left[joint.row_of[machine]] -= joint.amount[shape]
        bucket = next(b for b in range(WAIT_BUCKETS) if picture.waiting[cls][b])
        picture.waiting[cls][bucket] -= 1
        turns.append((-picture.priority[cls], bucket))
    assert all(first <= second for first, second in pairwise(turns))


@settings(max_examples=examples(200))
@given(SEEDS)
def test_each_task_takes_the_machine_that_is_cheapest_by_then(seed: int):
    residual = begun(seed)
    before = residual.copy()
    placed = completed(residual)
    if placed is None:
        for name in ("remaining", "free", "placed"):
            assert np.array_equal(getattr(residual, name), getattr(before, name))
        return
    assert not residual.remaining.any()
    assert plain(before).violated(as_dict(placed)) == []
    replayed(before, placed)


@settings(max_examples=examples(100))
@given(SEEDS, st.booleans())
def test_rows_of_single_machines_hold(seed: int, several: bool):
    random = np.random.default_rng(seed)
    rows = JointRows(
        row_of=random.permutation(6) if not several else np.zeros(6, dtype=np.int64),
        amount=random.integers(0, 3, 3),
        limit=random.integers(2, 9, 6),
        reason="full",
    )
    given = problem(
        tasks=random.integers(1, 4, 3).tolist(), requests=[[1]] * 3, free=[[4]] * 6, crowd=2, joint=[rows]
    )
    residual = Residual(given)
    placed = completed(residual)
    if several:
        assert placed is None
    elif placed is not None:
        assert plain(Residual(given)).violated(as_dict(placed)) == []
        replayed(Residual(given), placed)


def test_classes_take_turns():
    residual = Residual(
        problem(tasks=[4, 2], requests=[[1], [1]], free=[[9]], cost=[[0], [0]], priority=[0, 0])
    )
    placed = completed(residual)
    assert placed is not None
    assert placed.cls.tolist() == [0, 1, 0, 0, 1, 0]


def test_no_room_for_all_is_left_to_the_next_pass():
    residual = Residual(problem(tasks=[3], requests=[[1]], free=[[2]]))
    assert completed(residual) is None
    assert residual.remaining.sum() == 3


def test_too_many_pairs_are_left_to_the_next_pass(monkeypatch):
    monkeypatch.setattr(completion, "MOST_PAIRS", 3)
    assert completed(Residual(problem(tasks=[1, 1], requests=[[1], [1]], free=[[9]] * 2))) is None


def crowded() -> PlacementProblem:
    """Tasks of complementary resources; a flow of single units puts a few on machines that are full by then."""
    random = np.random.default_rng(0)
    return problem(
        tasks=[40] * 3,
        requests=[[1, 4], [4, 1], [2, 2]],
        free=random.integers(4, 24, (60, 2)).tolist(),
        cost=random.integers(0, 50, (3, 60)).tolist(),
        crowd=2,
    )


def test_a_small_rest_is_placed_without_another_network_and_at_about_the_same_cost(monkeypatch):
    residual = Residual(crowded())
    placing = place_all(residual, Means(OrToolsSolver()))
    placed = placing.assignments
    assert (placing.figures.passes, int(placed.count.sum())) == (1, 120)
    assert (residual.free >= 0).all()
    monkeypatch.setattr(passes, "SMALL_REST", 0.0)
    with_networks = Residual(crowded())
    placing = place_all(with_networks, Means(OrToolsSolver()))
    solved = placing.assignments
    assert placing.figures.passes > 1
    assert placement_cost(crowded(), placed) <= 1.005 * placement_cost(crowded(), solved)


def test_sizes_of_a_rest_are_levelled_afterwards():
    # It counts tasks, like a network: large and small ones take turns, and all large ones come to the first machine.
    given = with_heights(problem(tasks=[2, 2], requests=[[1], [1]], free=[[9], [9]]), [0, 0], [9, 1])
    placed = completed(Residual(given))
    assert placed is not None
    assert as_dict(placed) == {(0, 0): 2, (1, 1): 2}
    even = levelled(given, placed)
    assert as_dict(even) == {(cls, machine): 1 for cls in (0, 1) for machine in (0, 1)}
    assert placement_cost(given, even) < placement_cost(given, placed)


def test_a_rest_placed_without_a_network_ends_about_as_level_as_with_one(monkeypatch):
    given = with_heights(crowded(), np.random.default_rng(1).integers(0, 60, 60).tolist(), [9, 3, 1])
    placing = place_all(Residual(given), Means(OrToolsSolver()))
    placed = levelled(given, placing.assignments)
    assert placing.figures.passes == 1
    monkeypatch.setattr(passes, "SMALL_REST", 0.0)
    placing = place_all(Residual(given), Means(OrToolsSolver()))
    with_networks = levelled(given, placing.assignments)
    assert placing.figures.passes > 1
    assert placement_cost(given, placed) < 1.01 * placement_cost(given, with_networks)

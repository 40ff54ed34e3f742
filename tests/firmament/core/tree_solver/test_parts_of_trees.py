"""Small parts of the search for trees of groups: sums, what is lacking, kinds, and which domains groups choose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cost_models.interface import Int64
from firmament.core.model import JobGroup
from firmament.core.tree_solver.nested.counts import sum_by_shape
from firmament.core.tree_solver.nested.domain_choice import DomainChoice
from firmament.core.tree_solver.nested.kinds import list_parts, number_kinds
from firmament.core.tree_solver.nested.lacking import (
    NEVER,
    count_missing,
    explain_incomplete,
    explain_missing,
    find_children,
    list_whole,
)
from firmament.core.tree_solver.nested.trees import LinkedGroup
from tests.support.rules import ints


def tree(
    parent: list[int],
    parts: list[int],
    *,
    least: list[int] | None = None,
    held: list[tuple[int, int]] | None = None,
    apart: list[bool] | None = None,
) -> LinkedGroup:
    """A tree of groups; ``parts``: the group of each part, of one task each; ``held``: group and machine of tasks."""
    size = len(parent)
    return LinkedGroup(
        name="gang",
        names=tuple(f"g{number}" for number in range(size)),
        parent=ints(*parent),
        least=ints(*(least or [1] * size)),
        within=((),) * size,
        rather_within=((),) * size,
        apart=tuple(apart or [False] * size),
        part_class=np.arange(len(parts)),
        part_group=ints(*parts),
        part_count=np.ones(len(parts), dtype=np.int64),
        part_to_come=np.zeros(len(parts), dtype=np.bool_),
        held_group=ints(*(group for group, _ in held or [])),
        held_machine=ints(*(machine for _, machine in held or [])),
        order=np.arange(len(parts)),
    )


# 0 contains 1 and 2; 2 contains 3 and 4; 5 is a root of its own.
TREE = [-1, 0, 0, 2, 2, -1]


def test_derived_properties():
    group = tree(TREE, [1, 3, 3, 4, 5], held=[(3, 7), (1, 8), (5, 7)])
    assert group.children == ((1, 2), (), (3, 4), (), (), ())
    assert group.roots == (0, 5)
    assert group.parts == ((), (0,), (), (1, 2), (3,), (4,))
    assert group.depth == (0, 1, 1, 2, 2, 0)
    assert group.held == ((7, 8), (8,), (7,), (7,), (), (7,))
    assert LinkedGroup.link(group) is not group
    assert LinkedGroup.link(group).make_key() == group.make_key()


def test_trees_that_look_alike():
    group = tree(TREE, [1, 3])
    assert tree(TREE, [1, 3]).make_key() == group.make_key()
    others = [
        tree([-1, 0, 0, 2, 2, 0], [1, 3]),
        tree(TREE, [1, 4]),
        tree(TREE, [1, 3], least=[2] * 6),
        tree(TREE, [1, 3], held=[(1, 0)]),
        tree(TREE, [1, 3], apart=[True] + [False] * 5),
    ]
    assert all(each.make_key() != group.make_key() for each in others)


def test_sums_by_shape():
    group = tree(TREE, [1, 3, 3, 4, 5])
    sums = sum_by_shape(group, [0, 0, 1, 1, 2], [2, 3, 4, 5, 6])
    assert sums == [{0: 5, 1: 9}, {0: 2}, {0: 3, 1: 9}, {0: 3, 1: 4}, {1: 5}, {2: 6}]


@pytest.mark.parametrize(
    ("least", "have", "whole"),
    [
        ([2, 1, 2, 1, 1, 1], [0, 1, 0, 1, 1, 1], [True] * 6),
        ([2, 1, 2, 1, 2, 1], [0, 1, 0, 1, 1, 0], [False, True, False, True, False, False]),
        ([1, 1, 1, 1, 1, 0], [9, 0, 9, 0, 1, 0], [True, False, True, False, True, True]),
    ],
)
def test_whole_groups(least: list[int], have: list[int], whole: list[bool]):
    assert tree(TREE, [], least=least).find_whole(have) == whole


def test_kinds_of_groups():
    alike = tree([-1, 0, 0, 0], [1, 2, 3])
    keys: list[tuple[int, ...]] = [(), (0,), (0,), (1,)]
    kinds = number_kinds(alike, keys, [0, 0, 0], [2, 2, 2])
    assert kinds[1] == kinds[2]
    assert len({*kinds}) == 3
    assert len({*number_kinds(alike, [()] * 4, [0, 0, 1], [2, 2, 2])}) == 3
    assert len({*number_kinds(alike, [()] * 4, [0, 0, 0], [2, 2, 3])}) == 3
    held = tree([-1, 0, 0, 0], [1, 2, 3], held=[(2, 0)])
    assert len({*number_kinds(held, [()] * 4, [0, 0, 0], [2, 2, 2])}) == 3
    apart = tree([-1, 0, 0, 0], [1, 2, 3], apart=[False, False, True, False])
    assert len({*number_kinds(apart, [()] * 4, [0, 0, 0], [2, 2, 2])}) == 3
    assert list_parts(tree(TREE, [4, 1, 3, 3]), 0) == [1, 2, 3, 0]
    assert list_parts(tree(TREE, [4, 1, 3, 3]), 2) == [2, 3, 0]


# --- what is lacking -------------------------------------------------------------------------------------------------


def job_group(name: str, parent: str, least: int) -> JobGroup:
    return JobGroup(name=name, parent=parent, least=least)


GROUPS = [
    job_group("top", "", 2),
    job_group("a", "top", 2),
    job_group("b", "top", 1),
    job_group("b1", "b", 3),
    job_group("b2", "b", 1),
    job_group("c", "top", 1),
]


@pytest.mark.parametrize(
    ("have", "missing"),
    [
        ({}, {"top": 2, "a": 2, "b": 1, "b1": 3, "b2": 1, "c": 1, "": 2}),
        ({"a": 1, "c": 1}, {"top": 1, "a": 1, "b": 1, "b1": 3, "b2": 1, "c": 0, "": 1}),
        ({"a": 5, "b1": 3}, {"top": 0, "a": 0, "b": 0, "b1": 0, "b2": 1, "c": 1, "": 0}),
    ],
)
def test_how_many_tasks_are_missing(have: Mapping[str, int], missing: Mapping[str, int]):
    assert count_missing(GROUPS, have) == missing


def test_groups_with_too_few_groups_in_them():
    groups = [job_group("top", "", 3), job_group("a", "top", 1), job_group("b", "top", 1)]
    assert count_missing(groups, {})["top"] == 2 + NEVER
    assert explain_missing(groups, {"a": 1, "b": 1}) == "group top has 2 of 3 groups"
    assert find_children(groups) == {"": [groups[0]], "top": groups[1:]}


def test_whole_groups_of_whole_groups():
    assert list_whole(GROUPS, {}) == set()
    assert list_whole(GROUPS, {"a": 2, "c": 1}) == {"top", "a", "c"}
    assert list_whole(GROUPS, {"a": 2}) == set()
    assert list_whole(GROUPS, {"a": 2, "b2": 1}) == {"top", "a", "b", "b2"}


@pytest.mark.parametrize(
    ("name", "have", "words"),
    [
        ("a", {"a": 1}, "group a has 1 of 2 pods"),
        ("c", {}, "group c has 0 of 1 pod"),
        ("b", {}, "group b has 0 of 1 group complete"),
        ("a", {"a": 2}, "group top has 1 of 2 groups complete"),
        ("b1", {"b1": 3}, "group top has 1 of 2 groups complete"),
        ("a", {"a": 2, "c": 1}, ""),
        ("unknown", {}, ""),
    ],
)
def test_what_a_group_lacks(name: str, have: Mapping[str, int], words: str):
    assert explain_incomplete(GROUPS, have, name) == words


@pytest.mark.parametrize(
    ("have", "words"),
    [
        ({"a": 2, "c": 1}, ""),
        ({"a": 1, "c": 1}, "group a has 1 of 2 pods"),
        ({"a": 2, "b1": 2}, "group b1 has 2 of 3 pods"),
    ],
)
def test_the_nearest_thing_that_is_lacking(have: Mapping[str, int], words: str):
    assert explain_missing(GROUPS, have) == words


# --- which domain ----------------------------------------------------------------------------------------------------


def choose(
    demand: list[list[float]],
    room: list[list[float]],
    able: list[list[bool]] | None = None,
    apart: list[int] | None = None,
    order: list[int] | None = None,
    steps: int = 60,
) -> list[int] | None:
    choice = pose(demand, room, able, apart)
    found = choice.choose_domains(steps, None if order is None else ints(*order))
    if found is not None:
        load = np.zeros_like(choice.room)
        np.add.at(load, found, choice.demand)
        assert (load <= choice.room + 1e-9).all()
        assert all(choice.able[item, at] for item, at in enumerate(found.tolist()))
    return None if found is None else found.tolist()


def pose(
    demand: list[list[float]],
    room: list[list[float]],
    able: list[list[bool]] | None = None,
    apart: list[int] | None = None,
) -> DomainChoice:
    return DomainChoice(
        np.array(demand),
        np.array(room),
        np.ones((len(demand), len(room)), dtype=np.bool_) if able is None else np.array(able),
        _numbers(apart, len(demand)),
        np.random.default_rng(1),
    )


def _numbers(apart: list[int] | None, count: int) -> Int64:
    return ints(*(apart or [-1] * count))


def test_items_go_where_they_fit_best():
    assert choose([[0.5]], [[1.0], [0.6]]) == [1]
    assert choose([[0.7], [0.5]], [[1.0], [0.6]]) == [0, 1]
    assert choose([[0.5], [0.5]], [[1.0], [0.4]]) == [0, 0]
    assert choose([[1.0, 0.1], [0.1, 1.0]], [[1.0, 0.2], [0.2, 1.0]]) == [0, 1]


def test_who_has_one_choice_goes_first():
    assert choose([[0.9], [0.5]], [[1.0], [0.9]], [[True, True], [False, True]]) == [0, 1]


def test_an_order_is_followed():
    able = [[True, True], [True, True]]
    assert choose([[0.4], [0.5]], [[0.5], [0.6]], able, order=[0, 1]) == [0, 1]
    assert choose([[0.4], [0.5]], [[0.5], [0.6]], able, order=[1, 0]) == [1, 0]


def test_moves_and_swaps_mend_what_best_fit_has_broken():
    # Best fit puts the largest two together; only other pairs fill both domains.
    assert choose([[0.5], [0.4], [0.3], [0.3]], [[0.8], [0.7]]) is not None
    assert choose([[0.6], [0.4], [0.4], [0.3], [0.3]], [[1.0], [1.0]]) is not None
    assert choose([[0.6], [0.6], [0.6]], [[1.0], [1.0]]) is None


def test_items_that_must_be_apart():
    found = choose([[0.1]] * 3, [[1.0]] * 3, apart=[0, 0, 0])
    assert found is not None
    assert sorted(found) == [0, 1, 2]
    both = choose([[0.1]] * 4, [[1.0]] * 2, apart=[0, 0, 1, 1])
    assert both is not None
    assert both[0] != both[1]
    assert both[2] != both[3]
    assert choose([[0.1]] * 3, [[1.0]] * 2, apart=[0, 0, 0]) is None


def test_whether_too_many_must_be_apart():
    able = [[True, False, True], [True, False, False], [True, True, True]]
    assert not pose([[0.1]] * 3, [[1.0]] * 3, able, [0, 0, -1]).is_too_many()
    assert not pose([[0.1]] * 3, [[1.0]] * 3, able, [0, 0, 0]).is_too_many()
    assert pose([[0.1]] * 3, [[1.0]] * 2, None, [4, 4, 4]).is_too_many()
    assert pose([[0.1]] * 3, [[1.0]] * 3, [[True, False, False]] * 3, [0, 0, -1]).is_too_many()
    assert not pose([[0.1]] * 3, [[1.0]], None, None).is_too_many()


def test_an_item_that_no_domain_takes():
    assert choose([[0.1], [0.1]], [[1.0]], [[True], [False]]) is None


def test_without_steps_nothing_is_mended():
    assert choose([[0.1]], [[1.0]], steps=0) is None


def test_how_many_items_were_tried():
    choice = pose([[0.1]], [[1.0]])
    assert choice.choose_domains(10) is not None
    assert choice.tried == 0
    choice = pose([[0.6], [0.6], [0.6]], [[1.0], [1.0]])
    assert choice.choose_domains(10) is None
    assert choice.tried > 0

"""Trees as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.tree_solver.tree import build_tree
from tests.firmament.core.tree_solver.trees import full_tree


def test_units_are_in_depth_first_order_with_numbers_as_numbers():
    paths: dict[tuple[str, ...], int] = {("r10", "n1"): 0, ("r2", "n10"): 1, ("r2", "n9"): 2, ("r10", "a"): 3}
    tree = build_tree(("rack", "node"), paths)
    assert tree.names == (("r2", "r10"), ("n9", "n10", "a", "n1"))
    assert tree.parents[1].tolist() == [0, 0, 1, 1]
    assert tree.rows.tolist() == [2, 1, 3, 0]


def test_equal_names_under_different_parents_are_different_units():
    tree = build_tree(("row", "rack", "node"), {("a", "r", "1"): 0, ("b", "r", "1"): 1})
    assert [tree.count_units(level) for level in range(3)] == [2, 2, 2]
    assert tree.leaf_path(1) == ("b", "r", "1")


def test_names_that_differ_in_leading_zeros_only_are_different_units():
    tree = build_tree(("rack", "node"), {("1", "a"): 0, ("01", "b"): 1, ("1", "c"): 2})
    assert tree.names == (("01", "1"), ("b", "a", "c"))


def test_sums_and_first_children():
    tree = full_tree(("zone", "rack", "node"), (2, 2, 3))
    sums = tree.sums(np.arange(12))
    assert sums[0].tolist() == [15, 51]
    assert sums[1].tolist() == [3, 12, 21, 30]
    assert tree.first_children(1).tolist() == [0, 2, 4]


def test_a_path_needs_a_name_per_level():
    with pytest.raises(ValueError, match="unit a/b: 2 names for 3 levels"):
        build_tree(("zone", "rack", "node"), {("a", "b"): 0})
    with pytest.raises(ValueError, match="at least one level"):
        build_tree((), {})


def test_a_tree_may_have_no_units():
    tree = build_tree(("rack", "node"), {})
    assert tree.leaves == 0
    assert tree.first_children(0).tolist() == [0, 0]

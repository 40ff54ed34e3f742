"""The words for a group that cannot be placed, and for rules that no tree of a size can keep: every figure in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cost_models.group_terms import LevelRule
from firmament.core.tree_solver.solver import find_shortage, list_inconsistencies
from tests.firmament.core.tree_solver.trees import full_tree

ANY, ONE_EACH, WHOLE = LevelRule(), LevelRule("spread", hard=True), LevelRule(hard=True)


@pytest.mark.parametrize(
    ("rack", "node", "size", "units", "line"),
    [
        (ANY, ANY, 0, (2, 6), "size 0: a group has at least 1 pod"),
        (ANY, ANY, 1, (2, 6), ""),
        (ONE_EACH, ANY, 3, (2, 6), "level rack: hard spread wants a unit for each of 3 pods, the tree has 2"),
        (ONE_EACH, ANY, 2, (2, 6), ""),
        (WHOLE, ANY, 9, (2, 6), ""),
        (ANY, ONE_EACH, 7, (2, 6), "level node: hard spread wants a unit for each of 7 pods, the tree has 6"),
        (LevelRule(least=3, most=2), ANY, 4, (2, 6), "level rack: min 3 is above max 2"),
        (LevelRule(least=3, most=3), ANY, 3, (2, 6), ""),
        (
            LevelRule(least=3, most=5, factor=6),
            ANY,
            4,
            (2, 6),
            "level rack: no multiple of factor 6 is from 3 to 5",
        ),
        (LevelRule(factor=3), ANY, 4, (2, 6), "level rack: 4 pods are no multiple of factor 3, 1 too many"),
        (LevelRule(factor=3), ANY, 1, (2, 6), "level rack: 1 pod is no multiple of factor 3, 1 too many"),
        (LevelRule(factor=3), ANY, 6, (2, 6), ""),
        (LevelRule(partitions=3), ANY, 4, (2, 6), "level rack: 3 partitions wanted, the tree has 2 units"),
        (LevelRule(partitions=3), ANY, 4, (1, 6), "level rack: 3 partitions wanted, the tree has 1 unit"),
        (LevelRule(partitions=2), ANY, 4, (2, 6), ""),
        (
            LevelRule(partitions=2, least=3),
            ANY,
            5,
            (2, 6),
            "level rack: 2 units of at least 3 pods wanted, the group has 5",
        ),
        (LevelRule(partitions=2, least=3), ANY, 6, (2, 6), ""),
        (LevelRule(least=3), ANY, 2, (2, 6), "level rack: 1 unit of at least 3 pods wanted, the group has 2"),
        (LevelRule(most=2), ANY, 5, (2, 6), "level rack: 2 units of at most 2 pods hold 4 of 5"),
        (LevelRule(most=2), ANY, 4, (2, 6), ""),
        (LevelRule(most=1), ANY, 2, (1, 6), "level rack: 1 unit of at most 1 pod holds 1 of 2"),
        (
            LevelRule(most=2),
            LevelRule(least=3),
            4,
            (2, 6),
            "level rack: 4 pods cannot be divided by this rule with the rules below it",
        ),
        (
            ANY,
            LevelRule(partitions=2, most=1),
            5,
            (2, 6),
            "level node: 5 pods cannot be divided by this rule; possible sizes near it: 4",
        ),
        (
            LevelRule(partitions=1),
            LevelRule(partitions=2, most=1),
            3,
            (2, 6),
            "level node: 3 pods cannot be divided by this rule; possible sizes near it: 2 and 4",
        ),
        (
            LevelRule(least=4, most=4),
            LevelRule(least=3, most=3),
            4,
            (2, 6),
            "level node: 4 pods cannot be divided by this rule; possible sizes near it: 3 and 6",
        ),
        (LevelRule(partitions=2), LevelRule(partitions=3), 7, (2, 6), ""),
        (LevelRule(partitions=2, least=2), LevelRule(most=1), 4, (3, 4), ""),
        (LevelRule(factor=2), LevelRule(factor=2), 4, (2, 6), ""),
    ],
)
def test_rules_that_no_tree_of_this_size_can_keep(
    rack: LevelRule, node: LevelRule, size: int, units: tuple[int, int], line: str
):
    assert list_inconsistencies((rack, node), ("rack", "node"), size, units) == ((line,) if line else ())


def test_each_level_has_its_own_line():
    rules = LevelRule(partitions=3), LevelRule(factor=2)
    assert list_inconsistencies(rules, ("rack", "node"), 3, (2, 6)) == (
        "level rack: 3 partitions wanted, the tree has 2 units",
        "level node: 3 pods are no multiple of factor 2, 1 too many",
    )


@pytest.mark.parametrize(
    ("slots", "size", "rack", "node", "held", "level", "message", "placeable"),
    [
        ((1, 1, 1, 0), 4, ANY, ANY, (0, 0, 0, 0), "", "3 of 4 pods fit", 3),
        ((1, 0, 0, -5), 2, ANY, ANY, (0, 0, 0, 0), "", "1 of 2 pods fits", 1),
        ((0, 0, 0, 0), 1, ANY, ANY, (0, 0, 0, 0), "", "0 of 1 pod fits", 0),
        ((0, 0, 0, 0), 2, ANY, ANY, (0, 0, 0, 0), "", "0 of 2 pods fit", 0),
        ((1, 1, 1, 1), 1, ANY, ANY, (1, 1, 0, 0), "", "2 pods run already, more than the size 1", 0),
        ((1, 1, 1, 1), 0, ANY, ANY, (1, 0, 0, 0), "", "1 pod runs already, more than the size 0", 0),
        ((1, 0, 0, 0), 4, ANY, ANY, (1, 1, 0, 0), "", "3 of 4 pods fit (2 of them running)", 3),
        (
            (1, 1, 1, 1),
            3,
            WHOLE,
            ANY,
            (0, 0, 0, 0),
            "rack",
            "hard pack wants all 3 pods on one unit, the largest holds 2; at most 2 of 3 pods fit by this rule",
            2,
        ),
        (
            (2, 2, 2, 0),
            4,
            ANY,
            ONE_EACH,
            (0, 0, 0, 0),
            "node",
            "hard spread wants one pod on each unit, 3 units can take one; at most 3 of 4 pods fit by this rule",
            3,
        ),
        (
            (2, 0, 0, 0),
            2,
            ONE_EACH,
            ANY,
            (0, 0, 0, 0),
            "rack",
            "hard spread wants one pod on each unit, 1 unit can take one; at most 1 of 2 pods fits by this rule",
            1,
        ),
        (
            (1, 1, 1, 1),
            4,
            LevelRule(least=3),
            ANY,
            (0, 0, 0, 0),
            "rack",
            "pods per unit: at least 3; 0 units can hold such a share; none of 4 pods fits by this rule",
            0,
        ),
        (
            (1, 1, 1, 1),
            3,
            LevelRule(least=2, most=3, factor=2),
            ANY,
            (0, 0, 0, 0),
            "rack",
            (
                "pods per unit: 2 to 3, multiples of 2; 2 units can hold such a share; "
                "at most 2 of 3 pods fit by this rule"
            ),
            2,
        ),
        (
            (2, 2, 0, 0),
            4,
            LevelRule(partitions=2),
            ANY,
            (0, 0, 0, 0),
            "rack",
            "2 partitions wanted, 1 unit can hold their share; none of 4 pods fits by this rule",
            0,
        ),
        (
            (2, 2, 1, 0),
            4,
            LevelRule("spread", partitions=2, least=2),
            ANY,
            (0, 0, 0, 0),
            "rack",
            (
                "2 partitions wanted (pods per unit: at least 2), 1 unit can hold their share; "
                "none of 4 pods fits by this rule"
            ),
            0,
        ),
        (
            (4, 0, 1, 1),
            4,
            ANY,
            LevelRule(partitions=2),
            (0, 0, 0, 0),
            "node",
            "2 partitions wanted; at most 2 of 4 pods fit by this rule",
            2,
        ),
        (
            (9, 0, 0, 0),
            4,
            ANY,
            LevelRule("spread", partitions=2, most=3),
            (1, 0, 0, 0),
            "node",
            (
                "2 partitions wanted (pods per unit: 1 to 3), 1 unit can hold their share; "
                "none of 4 pods fits by this rule (1 of them running)"
            ),
            0,
        ),
    ],
)
def test_why_a_group_cannot_be_placed(
    slots: Sequence[int],
    size: int,
    rack: LevelRule,
    node: LevelRule,
    held: Sequence[int],
    level: str,
    message: str,
    placeable: int,
):
    """Two racks with two nodes each."""
    tree = full_tree(("rack", "node"), (2, 2))
    found = find_shortage(tree, np.array(slots), size, (rack, node), np.array(held))
    where = f"level {level}: " if level else ""
    assert (found.level, found.message, found.placeable) == (level, where + message, placeable)

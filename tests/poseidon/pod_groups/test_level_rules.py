"""Rules by level of a group in a tree, as its annotation states them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.pod_groups.level_rules import NO_LEVELS, GroupLevels, read_group_levels

KEY = "sakkara.group.constraints"


def read(rules: Any, *, of_groups: bool = False) -> tuple[GroupLevels, str]:
    text = rules if isinstance(rules, str) else json.dumps(rules)
    return read_group_levels({KEY: text}, of_groups=of_groups)


def test_without_the_annotation_there_are_no_rules():
    assert read_group_levels({}, of_groups=True) == (NO_LEVELS, "")
    assert read("") == (NO_LEVELS, "")


def test_hard_and_soft_rules_of_levels():
    rules = {"rack": {"type": "pack", "hard": True}, "zone": {"type": "pack"}}
    assert read(rules) == (GroupLevels(within=("rack",), rather_within=("zone",)), "")
    spread = {"rack": {"type": "spread", "hard": True}}
    assert read(spread, of_groups=True) == (GroupLevels(apart=("rack",)), "")


@pytest.mark.parametrize(
    ("rules", "of_groups", "words"),
    [
        ({"rack": {"type": "spread", "hard": True}}, False, "spread is for groups that have groups in them"),
        ({"rack": {"type": "spread"}}, True, "a tree of groups knows no soft spread"),
        ({"-": {"type": "pack"}}, True, "'-' is not a label key"),
        (
            {"rack": {"type": "pack", "partitions": 2}},
            True,
            "takes neither partitions, min and max, nor factor",
        ),
        ("odd", True, KEY),
    ],
)
def test_rules_that_a_tree_cannot_keep_are_refused(rules, of_groups, words):
    levels, said = read(rules, of_groups=of_groups)
    assert levels == NO_LEVELS
    assert said.startswith(f"metadata.annotations[{KEY}]")
    assert words in said

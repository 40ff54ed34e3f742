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


def test_several_rules_divide_in_the_order_in_which_they_are_written():
    hard = {"type": "spread", "hard": True}
    for of_groups in (False, True):
        levels, said = read({"zone": {"partitions": 2}, "rack": hard}, of_groups=of_groups)
        assert not said
        assert [label for label, _ in levels.divided] == ["zone", "rack"]
        assert not levels.apart
    assert read({"zone": hard, "rack": hard}, of_groups=True)[0].apart == ("zone", "rack")


@pytest.mark.parametrize("of_groups", [False, True])
def test_other_rules_divide_the_members_of_a_group(of_groups):
    for rule in ({"type": "spread"}, {"partitions": 2}, {"min": 1, "max": 2}, {"factor": 2}):
        levels, said = read({"rack": rule, "zone": {"hard": True}}, of_groups=of_groups)
        ((label, divided),) = levels.divided
        assert (label, levels.within, said) == ("rack", ("zone",), "")
        assert (divided.partitions, divided.least, divided.most, divided.factor) == (
            rule.get("partitions", 0),
            rule.get("min", 0),
            rule.get("max", 0),
            rule.get("factor", 1),
        )
    alone = {"rack": {"type": "spread", "hard": True}}
    assert bool(read(alone, of_groups=of_groups)[0].divided) == (not of_groups)


@pytest.mark.parametrize(
    ("rules", "of_groups", "words"),
    [
        ({"-": {"type": "pack"}}, True, "'-' is not a label key"),
        ({"rack": {"type": "pack", "min": 2}}, True, "counts only together with max"),
        ({"rack": {"hard": True, "factor": 2}}, False, "a hard rule takes neither partitions"),
        ("odd", True, KEY),
    ],
)
def test_rules_that_a_tree_cannot_keep_are_refused(rules, of_groups, words):
    levels, said = read(rules, of_groups=of_groups)
    assert levels == NO_LEVELS
    assert said.startswith(f"metadata.annotations[{KEY}]")
    assert words in said

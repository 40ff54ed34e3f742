"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.group_trees.spec.constraints:LevelRule.factor": 1,
    "poseidon.group_trees.spec.constraints:LevelRule.hard": False,
    "poseidon.group_trees.spec.constraints:LevelRule.least": 0,
    "poseidon.group_trees.spec.constraints:LevelRule.most": 0,
    "poseidon.group_trees.spec.constraints:LevelRule.partitions": 0,
    "poseidon.group_trees.spec.constraints:_LARGEST": 2_147_483_647,
    "poseidon.group_trees.spec.described_maps:_LARGEST_ANNOTATION": 100_000,
    "poseidon.group_trees.spec.described_maps:_MOST_SHOWN": 5,
    "poseidon.group_trees.spec.groups:MAX_SIZE": 2_147_483_647,
    "poseidon.group_trees.spec.json_text:_MAX_SHOWN": 60,
    "poseidon.group_trees.spec.tree:_MAX_DEPTH": 32,
    "poseidon.group_trees.status.group_status:Outlook.passing": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

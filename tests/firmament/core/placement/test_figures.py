"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.placement.gang_room:MOST_TRIES": 24,
    "firmament.core.placement.outcome:PassOptions.max_waves": 12,
    "firmament.core.placement.outcome:PassOptions.relocates": True,
    "firmament.core.placement.outcome:ROUND_STEPS": 60_000,
    "firmament.core.placement.outcome:StageFigures.arcs": 0,
    "firmament.core.placement.outcome:StageFigures.passes": 0,
    "firmament.core.placement.outcome:StageFigures.solves": 0,
    "firmament.core.placement.outcome:StageFigures.time_limited": False,
    "firmament.core.placement.outcome:StageFigures.waves": 0,
    "firmament.core.placement.passes:cheapest_machine.paired": False,
    "firmament.core.placement.passes:place_one_by_one.paired": False,
    "firmament.core.placement.pod_sets:list_confinements.alone": False,
    "firmament.core.placement.pod_sets:list_pod_sets.alone": False,
    "firmament.core.placement.quota_parts:MOST_SINGLE": 2000,
    "firmament.core.placement.quota_parts:_Cell.dealt": 0,
    "firmament.core.placement.subclasses:ClassPart.most": 0,
    "firmament.core.placement.subclasses:LARGEST_COST": 1_000_000_000,
    "firmament.core.placement.subclasses:derive.dealt": False,
    "firmament.core.placement.tree_groups.groups:HIGHEST": 1_099_511_627_776,
    "firmament.core.placement.waves:MOST": 9007199254740992.0,
    "firmament.core.placement.waves:_MOST_SORTED": 32,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

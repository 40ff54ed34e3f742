"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.tree_solver.answers:IDLE": 0,
    "firmament.core.tree_solver.answers:PART": 64,
    "firmament.core.tree_solver.count_vectors:make_progression.step": 1,
    "firmament.core.tree_solver.nested.divided.choices:COMBINATIONS": 200,
    "firmament.core.tree_solver.nested.divided.choices:DEALINGS": 48,
    "firmament.core.tree_solver.nested.divided.choices:DivisionChoice.is_whole": True,
    "firmament.core.tree_solver.nested.divided.choices:DivisionChoice.keeps_rule": True,
    "firmament.core.tree_solver.nested.divided.explanation:EXPLAINED": 64,
    "firmament.core.tree_solver.nested.divided.explanation:NAMED_ROOMS": 4,
    "firmament.core.tree_solver.nested.divided.explanation:TESTS": 16,
    "firmament.core.tree_solver.nested.divided.members:MANY_PLACES": 100_000,
    "firmament.core.tree_solver.nested.divided.members:PLACES": 64,
    "firmament.core.tree_solver.nested.divided.profiles:MERGED": 16,
    "firmament.core.tree_solver.nested.divided.profiles:SORTED": 64,
    "firmament.core.tree_solver.nested.divided.search:MORE": 8,
    "firmament.core.tree_solver.nested.divided.search:SHARE": 4,
    "firmament.core.tree_solver.nested.divided.search:VARIANTS": 400,
    "firmament.core.tree_solver.nested.divided.solver:solve_tree.explain": True,
    "firmament.core.tree_solver.nested.domain_choice:DomainChoice.tried": 0,
    "firmament.core.tree_solver.nested.domain_choice:STAY": 6,
    "firmament.core.tree_solver.nested.joint:CHOICES": 24,
    "firmament.core.tree_solver.nested.joint:FIRST_CHOICES": 3,
    "firmament.core.tree_solver.nested.joint:ITEMS_PER_EFFORT": 256,
    "firmament.core.tree_solver.nested.joint:SHRINK": 0.985,
    "firmament.core.tree_solver.nested.lacking:NEVER": 1_099_511_627_776,
    "firmament.core.tree_solver.nested.pattern_search:FEWEST_NODES": 300,
    "firmament.core.tree_solver.nested.pattern_search:MOST_BINS": 400,
    "firmament.core.tree_solver.nested.pattern_search:MOST_PATTERNS": 20_000,
    "firmament.core.tree_solver.nested.pattern_search:NODES_A_BIN": 12,
    "firmament.core.tree_solver.nested.pattern_search:PATTERNS_A_STEP": 1000,
    "firmament.core.tree_solver.nested.pattern_search:STYLES": (
        (2.0, 0.0),
        (0.5, 0.0),
        (0.5, 0.5),
        (2.0, 0.5),
        (1.0, 1.0),
    ),
    "firmament.core.tree_solver.nested.problem:EFFORT": 4000,
    "firmament.core.tree_solver.nested.problem:FIRST_STEPS": 4,
    "firmament.core.tree_solver.nested.problem:STEPS": 3000,
    "firmament.core.tree_solver.nested.room:ENDLESS": 4_611_686_018_427_387_904,
    "firmament.core.tree_solver.nested.room:MANY": 1_099_511_627_776,
    "firmament.core.tree_solver.nested.search:TURNS": 6,
    "firmament.core.tree_solver.nested.shortages.explanation:NAMED": 3,
    "firmament.core.tree_solver.nested.shortages.level_reasons:RESOURCE_TESTS": 16,
    "firmament.core.tree_solver.nested.shortages.level_reasons:SIZED": 32,
    "firmament.core.tree_solver.nested.shortages.level_reasons:TESTED_GROUPS": 1000,
    "firmament.core.tree_solver.nested.shortages.level_reasons:TESTS": 64,
    "firmament.core.tree_solver.nested.shortages.smallest_sets:LISTED": 1000,
    "firmament.core.tree_solver.nested.solver:solve_nested.explain": True,
    "firmament.core.tree_solver.nested.task_packing:PACKINGS": 5,
    "firmament.core.tree_solver.nested.trees:Division.binds_held": False,
    "firmament.core.tree_solver.nested.trees:NestedGroup.fewest": 0,
    "firmament.core.tree_solver.reach:CELLS": 2_097_152,
    "firmament.core.tree_solver.reach:ENDLESS": 1_099_511_627_776,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

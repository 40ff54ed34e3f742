"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rescheduling.consolidation:UNLIMITED": 4_611_686_018_427_387_904,
    "firmament.core.rescheduling.consolidation:_FEW": 2,
    "firmament.core.rescheduling.consolidation:_IN_VAIN": 100,
    "firmament.core.rescheduling.consolidation:_OTHERS": 24,
    "firmament.core.rescheduling.move_network.local_moves:_EJECTING": 8,
    "firmament.core.rescheduling.move_network.local_moves:_LocalMove.home": -1,
    "firmament.core.rescheduling.move_network.local_moves:_LocalMove.hoped": 0,
    "firmament.core.rescheduling.move_network.local_moves:add_local_moves.most": 4_611_686_018_427_387_904,
    "firmament.core.rescheduling.move_network.move_search:SearchOptions.first": 30,
    "firmament.core.rescheduling.move_network.move_search:SearchOptions.iterations": 16,
    "firmament.core.rescheduling.move_network.move_search:SearchOptions.more": 10,
    "firmament.core.rescheduling.move_network.move_search:SearchOptions.steps": 4,
    "firmament.core.rescheduling.move_network.move_search:SearchOptions.wider": 4,
    "firmament.core.rescheduling.move_network.move_search:_PRICES": 8,
    "firmament.core.rescheduling.move_network.network:_MOST_SWEEPS": 2000,
    "firmament.core.rescheduling.move_network.problem:DEAREST": 1_000_000_000,
    "firmament.core.rescheduling.move_network.problem:MoveProblem.step": 1,
    "firmament.core.rescheduling.plan_moves:PlanOptions.gap": 0.001,
    "firmament.core.rescheduling.plan_moves:PlanOptions.local_moves": 1000,
    "firmament.core.rescheduling.plan_moves:PlanOptions.most_moves": 2_147_483_648,
    "firmament.core.rescheduling.plan_moves:PlanOptions.move_price": 5.0,
    "firmament.core.rescheduling.plan_moves:_GAP": 0.005,
    "firmament.core.rescheduling.plan_moves:_NEVER": 1_000_000_000,
    "firmament.core.rescheduling.plan_moves:_TRIES": 8,
    "firmament.core.rescheduling.rehearsal:_FIRST_CLASS": 4_611_686_018_427_387_904,
    "firmament.core.rescheduling.rehearsal:_MOST_IN_ALL": 100,
    "firmament.core.rescheduling.rehearsal:_MOST_ROUNDS": 4,
    "firmament.core.rescheduling.room_bound:_MOST_COMPARED": 256,
    "firmament.core.rescheduling.room_by_moves:_LOOKED_AT": 500,
    "firmament.core.rescheduling.room_by_moves:_MOST_LABELS": 8,
    "firmament.core.rescheduling.room_by_moves:_MOST_MACHINES": 400,
    "firmament.core.rescheduling.room_by_moves:_MOST_MOVES": 8,
    "firmament.core.rescheduling.single_moves:_CELLS": 4_194_304,
    "firmament.core.rescheduling.single_moves:_CLOSED": 1_099_511_627_776,
    "firmament.core.rescheduling.single_moves:_MOST_PASSES": 8,
    "firmament.core.rescheduling.single_moves:_TARGETS": 32,
    "firmament.core.rescheduling.trials:_CHANGED_CLASS": 4_611_686_018_427_387_903,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

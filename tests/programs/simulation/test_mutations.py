"""Faults that are put into the programs are noticed within the stated number of seeds."""

from __future__ import annotations

import pytest

from tests.programs.simulation.mutations import MUTANTS, caught

FEWEST = min(seeds for _, seeds in MUTANTS.values())
FIRST = next(name for name, (_, seeds) in MUTANTS.items() if seeds == FEWEST)
"""One that any run can afford: it shows that histories notice something at all."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == FIRST else [pytest.mark.full]) for name in MUTANTS]
)
def test_it_is_noticed(name):
    assert caught(name) is not None

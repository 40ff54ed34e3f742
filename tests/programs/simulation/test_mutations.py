"""Faults that are put into the programs are noticed within the stated number of seeds."""

from __future__ import annotations

import pytest

from tests.programs.simulation.mutations import MUTANTS, caught

QUICK = [name for name, (_, seeds) in MUTANTS.items() if seeds <= 20]
RARE = [name for name in MUTANTS if name not in QUICK]


@pytest.mark.parametrize("name", QUICK)
def test_what_happens_often_is_noticed(name):
    assert caught(name) is not None


@pytest.mark.full
@pytest.mark.parametrize("name", RARE)
def test_what_takes_two_at_once_is_noticed(name):
    assert caught(name) is not None

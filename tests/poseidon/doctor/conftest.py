"""Settings of the doctor's tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _quick_solvers(forked_programs: None) -> None:
    """Fork the solver processes of servers in a test's own process; ``tests/firmament/solvers`` starts real ones."""

"""The clock of the solver's core, beside one of the system that is turned."""

from __future__ import annotations

from firmament.server.solver_server import steady_clock


def test_it_goes_on_as_it_began_whatever_the_wall_says():
    seconds = {"wall": 1_000_000.0, "monotonic": 50.0}
    clock = steady_clock(lambda: seconds["wall"], lambda: seconds["monotonic"])
    assert clock() == 1_000_000.0
    seconds["monotonic"] += 2.5
    seconds["wall"] -= 7200.0
    assert clock() == 1_000_002.5
    seconds["wall"] += 14_400.0
    assert clock() == 1_000_002.5
    assert steady_clock(lambda: seconds["wall"], lambda: seconds["monotonic"])() == 1_007_200.0

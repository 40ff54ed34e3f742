"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.devices.sharing.hami:Gpu.numa": 0,
    "poseidon.devices.sharing.hami:_CHOICES": (
        ("nvidia.com/use-gputype", "type", True),
        ("nvidia.com/nouse-gputype", "type", False),
        ("nvidia.com/use-gpuuuid", "uuid", True),
        ("nvidia.com/nouse-gpuuuid", "uuid", False),
    ),
    "poseidon.devices.sharing.hami:_WHOLE": 1000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

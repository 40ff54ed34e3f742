"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.devices.claim_writes:ClaimProgress.freeing": False,
    "poseidon.devices.claim_writes:ClaimProgress.unsure": False,
    "poseidon.devices.claim_writes:LOOK_AGAIN_SECONDS": 5.0,
    "poseidon.devices.claims:PodDeviceClaim.made": False,
    "poseidon.devices.extended_resources:_LONGEST_BASE": 200,
    "poseidon.devices.options:DeviceOptions.bind_timeout": 600.0,
    "poseidon.devices.shared_gpus:TURN_SECONDS": 300.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

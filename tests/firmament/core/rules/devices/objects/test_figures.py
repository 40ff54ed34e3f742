"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.devices.objects.inventory:DeviceReach.everywhere": False,
    "firmament.core.rules.devices.objects.inventory:Pool.incomplete": False,
    "firmament.core.rules.devices.objects.inventory:PublishedDevice.binds_to_machine": False,
    "firmament.core.rules.devices.objects.inventory:PublishedDevice.shared": False,
    "firmament.core.rules.devices.objects.quantities:LONGEST": 100,
    "firmament.core.rules.devices.objects.requests:AttributeConstraint.lists": True,
    "firmament.core.rules.devices.objects.requests:MOST_RESULTS": 32,
    "firmament.core.rules.devices.objects.requests:Option.admin": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES

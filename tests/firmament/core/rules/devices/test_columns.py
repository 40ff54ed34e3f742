"""What models are shown of the devices that are free."""

from __future__ import annotations

from firmament.core.rules.devices.columns import KnownDevices, show_free


def test_without_devices_nothing_is_shown():
    assert show_free(KnownDevices(), 3, {}) is None

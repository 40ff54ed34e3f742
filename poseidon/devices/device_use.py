"""Checks, in addition to the solver, that no device is given to two claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from poseidon.devices.claims import Device, device_of, list_results
from poseidon.kube.api.devices import Json


class DeviceUse:
    """The devices that claims have or will get without sharing them, by claim and by device."""

    def __init__(self) -> None:
        self._claims: dict[Device, dict[str, None]] = {}
        self._devices: dict[str, frozenset[Device]] = {}

    def put(self, key: str, allocation: Json | None) -> None:
        """Set the devices of a claim, None for none."""
        devices = _list_own(allocation) if allocation is not None else frozenset()
        known = self._devices.get(key, frozenset())
        if devices == known:
            return
        for device in known - devices:
            claims = self._claims[device]
            claims.pop(key, None)
            if not claims:
                del self._claims[device]
        for device in devices - known:
            self._claims.setdefault(device, {})[key] = None
        if devices:
            self._devices[key] = devices
        else:
            self._devices.pop(key, None)

    def find_conflict(
        self, key: str, allocation: Json, makes_way: Callable[[str], bool] = lambda _: False
    ) -> str:
        """Return the reason that another claim has a device of this allocation; "" if no other claim has one.

        Claims are ignored if ``makes_way``, called with their keys, returns True.
        """
        for device in sorted(_list_own(allocation)):
            if any(each != key and not makes_way(each) for each in self._claims.get(device, ())):
                return f"device {device.driver}/{device.pool}/{device.name} is allocated to another claim"
        return ""


def _list_own(allocation: Json) -> frozenset[Device]:
    """Return the devices of an allocation that no other claim may have: without shares and administrator's access."""
    return frozenset(_iter_exclusive(list_results(allocation)))


def _iter_exclusive(results: Iterable[Json]) -> Iterable[Device]:
    for each in results:
        device = device_of(each)
        if not each.get("adminAccess") and not device.share:
            yield device

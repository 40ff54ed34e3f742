"""Keeps the devices of nodes, and the claims to which they are allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.devices.claims import Device, list_devices
from poseidon.devices.known_claims import KnownClaims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poseidon.devices.claims import DeviceClaim
    from poseidon.kube.api.devices import Json, ResourceClaim, ResourceSlice
    from poseidon.kube.api.resource import Change


class _Slice(NamedTuple):
    """A part of a pool of devices; a pool may have several, of which only those of its newest generation count."""

    pool: tuple[str, str]
    generation: int
    devices: tuple[str, ...]


class DeviceObjects:
    """The devices that ResourceSlices list for each node, and the ResourceClaims to which devices are allocated."""

    def __init__(self) -> None:
        self._claims = KnownClaims()
        self._slices: dict[str, dict[str, _Slice]] = {}
        self._node_of: dict[str, str] = {}
        self._devices: dict[str, frozenset[Device]] = {}
        self._holders: dict[Device, dict[str, str]] = {}

    def slices_changed(self, changes: Sequence[Change[ResourceSlice]]) -> None:
        """Update the ResourceSlices that have changed; slices that belong to no single node are ignored."""
        for uid, found in changes:
            former = self._node_of.pop(uid, "")
            if former:
                del self._slices[former][uid]
                if not self._slices[former]:
                    del self._slices[former]
            node = _text(found.spec, "nodeName") if found is not None else ""
            if found is not None and node:
                self._node_of[uid] = node
                self._slices.setdefault(node, {})[uid] = _read_slice(found.spec)

    def claims_changed(self, changes: Sequence[Change[ResourceClaim]]) -> None:
        """Update the ResourceClaims that have changed, by the devices that are allocated to them now."""
        for uid, found in changes:
            key = self._claims.remove(uid) if found is None else self._claims.put(uid, found)
            if key:
                self._note_devices(key)

    def _note_devices(self, key: str) -> None:
        claim = self._claims.get(key)
        allocation = claim.found.status.allocation if claim is not None else None
        for device in self._devices.pop(key, ()):
            holders = self._holders[_whole(device)]
            holders.pop(key, None)
            if not holders:
                del self._holders[_whole(device)]
        if allocation is not None and (found := list_devices(allocation)):
            self._devices[key] = found
            for device in sorted(found):
                self._holders.setdefault(_whole(device), {})[key] = device.share

    def list_devices(self, node: str) -> list[Device]:
        """Return the devices of a node, ordered by driver, pool and name."""
        slices = self._slices.get(node, {}).values()
        newest: dict[tuple[str, str], int] = {}
        for each in slices:
            newest[each.pool] = max(each.generation, newest.get(each.pool, 0))
        return sorted(
            {
                Device(*each.pool, name)
                for each in slices
                if each.generation == newest[each.pool]
                for name in each.devices
            }
        )

    def find_claim(self, key: str) -> DeviceClaim | None:
        """Return the claim ``namespace/name``, or None if it does not exist."""
        return self._claims.get(key)

    def iter_holders(self, device: Device) -> Iterator[tuple[DeviceClaim, str]]:
        """Yield the claims to which a device is allocated, by name, each with the ID of its share ("" for all)."""
        for key, share in sorted(self._holders.get(device, {}).items()):
            claim = self._claims.get(key)
            if claim is not None:
                yield claim, share


def _whole(device: Device) -> Device:
    return device._replace(share="")


def _read_slice(spec: Json) -> _Slice:
    pool, devices = spec.get("pool"), spec.get("devices")
    generation = pool.get("generation") if isinstance(pool, dict) else 0
    return _Slice(
        (_text(spec, "driver"), _text(pool, "name")),
        generation if isinstance(generation, int) else 0,
        tuple(filter(None, (_text(each, "name") for each in devices))) if isinstance(devices, list) else (),
    )


def _text(found: Any, key: str) -> str:
    value = found.get(key) if isinstance(found, dict) else ""
    return value if isinstance(value, str) else ""

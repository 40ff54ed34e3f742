"""Plays the API server and the drivers for claims of devices: each write is made, and drivers are ready at once."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.devices.claims import device_of, list_results
from poseidon.kube.api.devices import AllocatedDeviceStatus, ClaimConsumer, Json, ResourceClaim
from poseidon.kube.api.metadata import Condition
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import (
    DeviceClaimWrite,
    RefusedWriteError,
    WriteEnd,
    build_status,
)


def make_write(state: BridgeState, write: DeviceClaimWrite) -> None:
    """Make a write of the bridge, and show it the claim as it is then."""
    try:
        change = build_status(write.claim, write)
    except RefusedWriteError as error:
        state.device_claim_written(WriteEnd(write, str(error)))
        return
    claim = write.claim
    if change is not None:
        claim = _apply_change(write.claim, change)
        state.device_claims_changed([Change(write.key, claim)])
    state.device_claim_written(WriteEnd(write, claim=claim))


def _apply_change(claim: ResourceClaim, change: Json) -> ResourceClaim:
    allocation = change.get("allocation", claim.status.allocation)
    reserved = msgspec.convert(change["reservedFor"] or (), tuple[ClaimConsumer, ...])
    said = tuple(_say_ready(each) for each in list_results(allocation or {}))
    return replace(
        claim, status=replace(claim.status, allocation=allocation, reserved_for=reserved, devices=said)
    )


def _say_ready(result: Json) -> AllocatedDeviceStatus:
    device = device_of(result)
    conditions = tuple(
        Condition(type=each, status="True") for each in result.get("bindingConditions") or () if each
    )
    return AllocatedDeviceStatus(device.driver, device.pool, device.name, device.share, conditions)

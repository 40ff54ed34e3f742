"""Imitates the API server and device drivers: carries out writes to claims, and reports devices ready at once."""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.devices.claims import device_of, list_results
from poseidon.kube.api.devices import AllocatedDeviceStatus, Json, ResourceClaim
from poseidon.kube.api.metadata import Condition
from poseidon.kube.api.pods import ExtendedClaimStatus, Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import (
    DeviceClaimWrite,
    RefusedWriteError,
    WriteEnd,
    apply_status,
    build_status,
)


def make_write(state: BridgeState, write: DeviceClaimWrite, now: float) -> dict[str, dict[str, str]]:
    """Carry out the bridge's write to a device claim, and pass the changed claim to the bridge's state.

    Returns the annotations that the write puts on pods, by uid.
    """
    try:
        change = build_status(write.claim, write)
    except RefusedWriteError as error:
        state.device_claim_written(WriteEnd(write, str(error)))
        return {}
    claim = write.claim
    if write.report is not None and not claim.metadata.uid:  # This write creates the claim.
        claim = replace(claim, metadata=replace(claim.metadata, uid=write.key))
    if change is not None:
        claim = _apply_change(claim, change)
        state.device_claims_changed([Change(write.key, claim)])
    state.device_claim_written(WriteEnd(write, claim=claim))
    if state.shared_gpus is not None:
        state.shared_gpus.end_turn(write.key)
    if write.instead is None or change is None:
        return {}
    metadata = write.instead(change, now)[1]["metadata"]
    return {
        metadata["uid"]: {key: value for key, value in metadata["annotations"].items() if value is not None}
    }


def apply_report(pods: dict[str, Pod], write: DeviceClaimWrite) -> None:
    """Name the claim of a write in the status of its pod, if the write asks for that; ``pods`` has all pods by uid."""
    if write.report is None or not write.join:
        return
    patch = write.report[1]
    uid = patch["metadata"]["uid"]
    named = convert(patch["status"]["extendedResourceClaimStatus"], ExtendedClaimStatus)
    status = replace(pods[uid].status, extended_resource_claim_status=named)
    pods[uid] = replace(pods[uid], status=status)


def _apply_change(claim: ResourceClaim, change: Json) -> ResourceClaim:
    changed = apply_status(claim, change)
    said = tuple(_report_ready(each) for each in list_results(changed.status.allocation or {}))
    return replace(changed, status=replace(changed.status, devices=said))


def _report_ready(result: Json) -> AllocatedDeviceStatus:
    device = device_of(result)
    conditions = tuple(
        Condition(type=each, status="True") for each in result.get("bindingConditions") or () if each
    )
    return AllocatedDeviceStatus(device.driver, device.pool, device.name, device.share, conditions)

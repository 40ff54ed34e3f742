"""Writes the devices of device claims, and the pods that claims are reserved for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.devices import FINALIZER, MOST_CONSUMERS, ClaimConsumer, Json, ResourceClaim
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import RetryOptions, Tries, WorkerPool

_log = logging.getLogger(__name__)
_AT_A_TIME = 64
_CONFLICTS = 5
"""The number of times that a write is tried again because another program has changed the claim meanwhile."""


class DeviceClaimWrite(NamedTuple):
    """Reserve a claim for pods, or end reservations. When the last reservation ends, the claim's devices are freed."""

    claim: ResourceClaim
    """The claim as last seen."""
    allocation: Json | None
    """The devices to write if the claim has none yet; None if it should have some already."""
    join: tuple[PodRef, ...]
    """The pods for which the claim is to be reserved."""
    leave: tuple[str, ...]
    """Uids of the pods whose reservations end."""
    read_first: bool = False
    """Whether to read the claim first, because it may have changed since it was last seen."""
    instead: Callable[[Json, float], tuple[str, Json]] | None = None
    """For a claim that stands for another object: returns the path of that object and the merge patch to send.

    The function is called with the change of the claim's status, and the time in seconds since the epoch.
    """
    report: tuple[str, Json] | None = None
    """For a claim created together with its devices: path and merge patch that name the claim in its pod's status.

    A claim without a uid is created first.
    """

    @property
    def key(self) -> str:
        """``namespace/name`` of the claim."""
        return f"{self.claim.metadata.namespace}/{self.claim.metadata.name}"

    @property
    def path(self) -> str:
        """The claim's path on the API server."""
        metadata = self.claim.metadata
        return f"/apis/resource.k8s.io/v1/namespaces/{metadata.namespace}/resourceclaims/{metadata.name}"


class WriteEnd(NamedTuple):
    """The end of a write to a device claim."""

    write: DeviceClaimWrite
    """The write."""
    reason: str = ""
    """Why the write has failed for good, "" if it succeeded."""
    claim: ResourceClaim | None = None
    """The claim after the write, None if that is not known."""
    unsure: bool = False
    """Whether a failed write may have succeeded nevertheless, because no answer came."""


class RefusedWriteError(Exception):
    """The claim's present state does not allow the write."""


def build_status(claim: ResourceClaim, write: DeviceClaimWrite) -> Json | None:
    """Return the change of a claim's status for a write, None if none is needed. Raises ``RefusedWriteError``."""
    name, status = claim.metadata.name, claim.status
    if claim.metadata.uid != write.claim.metadata.uid:
        raise RefusedWriteError(f'resourceclaim "{name}" not found')
    stay = [each for each in status.reserved_for if each.uid not in write.leave]
    there = {each.uid for each in stay}
    reserved = [msgspec.to_builtins(each) for each in stay]
    reserved += [
        {"resource": "pods", "name": each.name, "uid": each.uid}
        for each in write.join
        if each.uid not in there
    ]
    changed: Json = {}
    if write.join:
        if claim.metadata.deletion_timestamp is not None:
            raise RefusedWriteError(f'resourceclaim "{name}" is being deleted')
        if len(reserved) > MOST_CONSUMERS:
            raise RefusedWriteError("resourceclaim in use")
        if status.allocation is None and write.allocation is None:
            raise RefusedWriteError(f'resourceclaim "{name}" has lost its devices')
        if status.allocation is None:
            changed["allocation"] = write.allocation
        elif write.allocation is not None and _results(status.allocation) != _results(write.allocation):
            raise RefusedWriteError(f'resourceclaim "{name}" has got other devices meanwhile')
    elif not reserved and status.allocation is not None:
        changed["allocation"] = None
    if changed or len(stay) != len(status.reserved_for) or len(reserved) != len(stay):
        changed["reservedFor"] = reserved or None
    return changed or None


def apply_status(claim: ResourceClaim, change: Json) -> ResourceClaim:
    """Return a claim after a change of its status."""
    status = claim.status
    if "allocation" in change:
        status = replace(status, allocation=change["allocation"])
    if "reservedFor" in change:
        reserved = msgspec.convert(change["reservedFor"] or (), tuple[ClaimConsumer, ...])
        status = replace(status, reserved_for=reserved)
    return replace(claim, status=status)


def _results(allocation: Json) -> list[tuple[Any, ...]]:
    """Return the devices of an allocation, for comparisons: API servers may add other fields to an allocation."""
    devices = allocation.get("devices")
    results = devices.get("results") if isinstance(devices, dict) else None
    return sorted(
        tuple(str(each.get(part)) for part in ("request", "driver", "pool", "device", "shareID"))
        for each in results or ()
        if isinstance(each, dict)
    )


class DeviceClaimWriter(WorkerPool[DeviceClaimWrite]):
    """A writer of device claims that runs until cancelled, and calls ``on_ended`` at the end of each write.

    Each write applies to one resource version of the claim. If another program has changed the claim, the writer
    reads it again, and applies the write to the new content if that allows it. A write is therefore never made twice,
    even if its answer was lost.
    """

    def __init__(
        self,
        environment: Environment,
        on_ended: Callable[[WriteEnd], None],
        options: RetryOptions | None = None,
    ) -> None:
        super().__init__(self._carry_out, lambda: _AT_A_TIME)
        self._environment = environment
        self._on_ended = on_ended
        self._options = options or RetryOptions()

    async def _carry_out(self, write: DeviceClaimWrite) -> None:
        try:
            end = (await self._write(write))._replace(write=write)
        except RefusedWriteError as error:
            end = WriteEnd(write, str(error))
        except KubeError as error:
            unsure = not isinstance(error, ApiError) or error.transient
            end = WriteEnd(write, _explain(write, error), unsure=unsure)
        except Exception as error:  # noqa: BLE001 - one write that cannot be made must not end the others
            end = WriteEnd(write, f"cannot be written: {error!r}", unsure=True)
        if end.reason:
            _log.debug('claim of devices not written claim=%s reason="%s"', write.key, end.reason)
        self._on_ended(end)

    async def _write_instead(
        self, write: DeviceClaimWrite, instead: Callable[[Json, float], tuple[str, Json]]
    ) -> WriteEnd:
        """Write to the object for which a claim stands. A patch that is sent twice does no harm."""
        change = build_status(write.claim, write)
        if change is None:
            return WriteEnd(write, claim=write.claim)
        path, patch = instead(change, self._environment.wall())
        transport, text = self._environment.transport, msgspec.json.encode(patch)
        answer = await self._persist(lambda: transport.patch(path, text, MERGE_PATCH))
        claim, shown = apply_status(write.claim, change), _decode(answer).metadata
        metadata = replace(claim.metadata, resource_version=shown.resource_version)
        return WriteEnd(write, claim=replace(claim, metadata=metadata))

    async def _write(self, write: DeviceClaimWrite) -> WriteEnd:
        if write.instead is not None:
            return await self._write_instead(write, write.instead)
        if not write.claim.metadata.uid:
            claim = await self._bring_about(write)
            write = write._replace(claim=claim)
        else:
            claim = await self._read(write) if write.read_first else write.claim
        for _ in range(_CONFLICTS):
            try:
                change = build_status(claim, write)
            except RefusedWriteError as error:
                return WriteEnd(write, str(error), claim)
            if change is None:
                break
            try:
                if change.get("allocation") and FINALIZER not in claim.metadata.finalizers:
                    claim = await self._patch(write, claim, {"finalizers": [FINALIZER]}, None)
                claim = await self._patch(write, claim, {}, change)
                break
            except ApiError as error:
                if not error.conflict:
                    raise
            claim = await self._read(write)
        else:
            return WriteEnd(write, f'resourceclaim "{claim.metadata.name}" keeps changing')
        if write.report is not None and write.join:
            try:
                await self._report(*write.report)
            except ApiError as error:
                return WriteEnd(write, f"the claim cannot be named in the pod's status: {error}", claim)
        return WriteEnd(write, claim=claim)

    async def _bring_about(self, write: DeviceClaimWrite) -> ResourceClaim:
        """Create the claim of a pod, unless an earlier try has created it. Raises ``RefusedWriteError``."""
        metadata = write.claim.metadata
        if write.join:
            body = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {
                    "name": metadata.name,
                    "annotations": metadata.annotations,
                    "ownerReferences": [msgspec.to_builtins(each) for each in metadata.owner_references],
                },
                "spec": write.claim.spec,
            }
            transport, text = self._environment.transport, msgspec.json.encode(body)
            path = write.path.rpartition("/")[0]
            try:
                return _decode(await self._persist(lambda: transport.post(path, text)))
            except ApiError as error:
                if not error.already_exists:
                    raise
        found = await self._read(write)
        owner, wanted = found.metadata.controller(), metadata.controller()
        if owner is None or wanted is None or owner.uid != wanted.uid:
            raise RefusedWriteError(f'resourceclaim "{metadata.name}" exists already, and is not this pod\'s')
        return found

    async def _report(self, path: str, patch: Json) -> None:
        transport, text = self._environment.transport, msgspec.json.encode(patch)
        await self._persist(lambda: transport.patch(path, text, MERGE_PATCH))

    async def _patch(
        self, write: DeviceClaimWrite, claim: ResourceClaim, more: Json, status: Json | None
    ) -> ResourceClaim:
        """Patch the claim's metadata, or its status; return the claim as the server answers."""
        metadata = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version, **more}
        if status is None:  # A strategic merge patch keeps other finalizers.
            path, form, body = write.path, STRATEGIC_MERGE_PATCH, {"metadata": metadata}
        else:
            path, form, body = f"{write.path}/status", MERGE_PATCH, {"metadata": metadata, "status": status}
        transport, text = self._environment.transport, msgspec.json.encode(body)
        return _decode(await self._persist(lambda: transport.patch(path, text, form)))

    async def _read(self, write: DeviceClaimWrite) -> ResourceClaim:
        return _decode(await self._persist(lambda: self._environment.transport.get(write.path)))

    async def _persist(self, attempt: Callable[[], Any]) -> bytes:
        tries = Tries(self._options, self._environment.random)
        answer: bytes = await tries.persist(attempt, self._environment.sleep)
        return answer


def _decode(answer: bytes) -> ResourceClaim:
    try:
        return decode_object(answer, ResourceClaim)
    except MalformedObjectError as error:
        raise RefusedWriteError(f"the API server's answer cannot be read: {error}") from None


def _explain(write: DeviceClaimWrite, error: KubeError) -> str:
    name = write.claim.metadata.name
    if not isinstance(error, ApiError):
        return f'resourceclaim "{name}" cannot be written: {error}'
    if error.not_found:
        return f'resourceclaim "{name}" not found'
    return f'resourceclaim "{name}" cannot be written: {error}'

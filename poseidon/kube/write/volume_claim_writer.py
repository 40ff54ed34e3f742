"""Writes what begins the binding of a volume claim: the claim's chosen node, or its volume."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from poseidon.kube.api.storage import BOUND_BY_CONTROLLER, SELECTED_NODE
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import RetryOptions, Tries, WorkerPool

_log = logging.getLogger(__name__)
_AT_A_TIME = 16


class SelectNode(NamedTuple):
    """Tell a claim's provisioner for which node to create a volume; ``pod`` is the uid of the pod that needs it."""

    pod: str
    namespace: str
    claim: str
    claim_uid: str
    node: str


class GiveVolume(NamedTuple):
    """Give a volume to a claim, if the claim is still at ``version``."""

    pod: str
    """Uid of the pod that needs the claim."""
    namespace: str
    """Namespace of the claim."""
    claim: str
    """Name of the claim."""
    claim_uid: str
    """Uid of the claim."""
    volume: str
    """Name of the volume."""
    volume_uid: str
    """Uid of the volume."""
    version: str
    """Resource version of the volume; if it has changed, the write is refused."""


ClaimWrite: TypeAlias = SelectNode | GiveVolume


class ClaimWriter(WorkerPool[ClaimWrite]):
    """A writer that carries out writes to volume claims until cancelled.

    ``on_refused`` is called for each write that has failed for good, with the reason. Success is not reported, because
    the watches of claims and volumes show it. The patches contain uids, so they never change another object of the same
    name. A patch that is sent twice does no harm.
    """

    def __init__(
        self,
        environment: Environment,
        on_refused: Callable[[ClaimWrite, str], None],
        options: RetryOptions | None = None,
    ) -> None:
        super().__init__(self._carry_out, lambda: _AT_A_TIME)
        self._environment = environment
        self._on_refused = on_refused
        self._options = options or RetryOptions()

    async def _carry_out(self, write: ClaimWrite) -> None:
        try:
            reason = await self._write(write)
        except Exception as error:  # noqa: BLE001 - one write that cannot be made must not end the others
            reason = f"cannot be written: {error!r}"
        if reason:
            _log.debug('claim not written claim=%s/%s reason="%s"', write.namespace, write.claim, reason)
            self._on_refused(write, reason)

    async def _write(self, write: ClaimWrite) -> str:
        """Write with retries; return why the write failed for good, "" if it succeeded."""
        path, body = patch_of(write)
        transport = self._environment.transport
        tries = Tries(self._options, self._environment.random)
        try:
            await tries.persist(lambda: transport.patch(path, body, MERGE_PATCH), self._environment.sleep)
        except KubeError as error:
            return _refusal(write, error) if isinstance(error, ApiError) else str(error)
        return ""


def patch_of(write: ClaimWrite) -> tuple[str, bytes]:
    """Return path and body of the merge patch for a write, as kube-scheduler's binder would send it."""
    if isinstance(write, SelectNode):
        metadata: dict[str, Any] = {"uid": write.claim_uid, "annotations": {SELECTED_NODE: write.node}}
        path = f"/api/v1/namespaces/{write.namespace}/persistentvolumeclaims/{write.claim}"
        return path, msgspec.json.encode({"metadata": metadata})
    metadata = {
        "uid": write.volume_uid,
        "resourceVersion": write.version,
        "annotations": {BOUND_BY_CONTROLLER: "yes"},
    }
    given = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": write.namespace,
        "name": write.claim,
        "uid": write.claim_uid,
    }
    path = f"/api/v1/persistentvolumes/{write.volume}"
    return path, msgspec.json.encode({"metadata": metadata, "spec": {"claimRef": given}})


def _refusal(write: ClaimWrite, error: ApiError) -> str:
    if isinstance(write, GiveVolume):
        what = f'persistentvolume "{write.volume}"'
    else:
        what = f'persistentvolumeclaim "{write.claim}"'
    if error.not_found:
        return f"{what} not found"
    if error.conflict:
        return f"{what} has changed meanwhile"
    return f"{what} cannot be written: {error}"

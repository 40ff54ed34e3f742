"""Writes what begins the binding of a claim: the chosen node, or the volume that it gets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from poseidon.kube.backoff import Backoff
from poseidon.kube.errors import ApiError, KubeError
from poseidon.kube.storage_objects import BOUND_BY_CONTROLLER, SELECTED_NODE
from poseidon.kube.transport import MERGE_PATCH

if TYPE_CHECKING:
    from poseidon.kube.transport import Transport

_log = logging.getLogger(__name__)


class SelectNode(NamedTuple):
    """Tell a claim's provisioner for which node to make a volume; ``pod`` is the uid of the pod behind it."""

    pod: str
    namespace: str
    claim: str
    claim_uid: str
    node: str


class GiveVolume(NamedTuple):
    """Give a volume to a claim, if it is still as it was at ``version``."""

    pod: str
    namespace: str
    claim: str
    claim_uid: str
    volume: str
    volume_uid: str
    version: str


ClaimWrite: TypeAlias = SelectNode | GiveVolume


@dataclass(frozen=True, slots=True)
class ClaimWriterOptions:
    """``concurrency`` is the number of writes in flight, ``attempts`` how often each is tried at most."""

    concurrency: int = 16
    attempts: int = 5
    backoff_initial: float = 0.1
    backoff_cap: float = 5.0


class ClaimWriter:
    """Writes until cancelled.

    ``on_refused`` is told of each write that has failed for good, with the reason. Success is not told: what
    follows from it is seen by watching claims and volumes. Uids in the patches see to it that namesakes are left
    alone; writing twice does no harm.
    """

    def __init__(
        self,
        transport: Transport,
        on_refused: Callable[[ClaimWrite, str], None],
        *,
        random: Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        options: ClaimWriterOptions | None = None,
    ) -> None:
        self._transport = transport
        self._on_refused = on_refused
        self._random = random
        self._sleep = sleep
        self._options = options or ClaimWriterOptions()
        self._queue: asyncio.Queue[ClaimWrite] = asyncio.Queue()

    def submit(self, write: ClaimWrite) -> None:
        """Queue a write."""
        self._queue.put_nowait(write)

    async def run(self) -> None:
        """Write for ever."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._options.concurrency):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            write = await self._queue.get()
            reason = await self._write(write)
            if reason:
                _log.debug('claim not written claim=%s/%s reason="%s"', write.namespace, write.claim, reason)
                self._on_refused(write, reason)

    async def _write(self, write: ClaimWrite) -> str:
        """Write with retries; returns why it cannot be done, "" if it is done."""
        path, body = patch_of(write)
        backoff = Backoff(self._random, self._options.backoff_initial, self._options.backoff_cap)
        for attempt in range(1, self._options.attempts + 1):
            at_least = 0.0
            try:
                await self._transport.patch(path, body, MERGE_PATCH)
            except ApiError as error:
                if not error.transient or attempt == self._options.attempts:
                    return _refusal(write, error)
                at_least = error.retry_after or 0.0
            except KubeError as error:
                if attempt == self._options.attempts:
                    return str(error)
            else:
                return ""
            await self._sleep(max(backoff.next(), at_least))
        raise AssertionError("unreachable: the last attempt returns")


def patch_of(write: ClaimWrite) -> tuple[str, bytes]:
    """Return path and body of the merge patch that carries out a write, as kube-scheduler's binder would."""
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

"""Stands for election by a Lease: follows it, takes it when it is free, renews it, and gives it back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import msgspec

from poseidon.kube.api.coordination import Lease
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.environment import Environment, ReflectorOptions
from poseidon.kube.watch.reflector import Reflector
from poseidon.leadership.election import Election, LeaseWrite, Role
from poseidon.leadership.options import LeaderElectionOptions

_log = logging.getLogger(__name__)

_PATIENCE = 2.0
"""Seconds that a write may take which is no renewal."""
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class LeadershipLostError(Exception):
    """This process led and does so no longer. It must not go on: what it knows may be decided by another one."""


class Elector:
    """One candidate of an election, by the Lease that ``options`` name.

    ``identity`` tells it from all others. The ``environment`` must be one that may write at any time.
    """

    def __init__(self, environment: Environment, options: LeaderElectionOptions, identity: str) -> None:
        namespace = options.resource_namespace or own_namespace()
        self._election = Election(
            identity,
            options,
            namespace=namespace,
            clock=environment.clock,
            wall=environment.wall,
            random=environment.random,
        )
        self._transport = environment.transport
        self._clock = environment.clock
        self._renewal_seconds = options.renew_deadline / 2  # a request that hangs leaves time for another
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{options.resource_name}"
        self._wake = asyncio.Event()
        self._elected = asyncio.Event()
        self._said: tuple[str, object] | None = None
        self._released = False
        self._writing = asyncio.Lock()
        patience = ReflectorOptions(absent_seconds=options.retry_period, backoff_cap=options.retry_period)
        name = f"metadata.name={options.resource_name}"
        self._reflector = Reflector(
            replace(environment, reflector=patience),
            Resource("leases", self._collection, Lease, field_selector=name, required=True),
            self._follow,
            self._wake.set,
        )

    @property
    def fencing(self) -> int:
        """The number of this leader, larger than that of all before it; 0 before it leads."""
        return self._election.fencing

    @property
    def role(self) -> Role:
        """How this process stands."""
        return self._election.role

    def may_write(self) -> bool:
        """Return whether this process may change the cluster now."""
        return self._election.may_write()

    async def wait_elected(self) -> None:
        """Wait until this process leads."""
        await self._elected.wait()

    async def run(self) -> None:
        """Stand for election, and renew, until cancelled or ``release``. Raises ``LeadershipLostError``."""
        following = asyncio.create_task(self._reflector.run(), name="lease")
        try:
            await self._campaign()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def release(self) -> None:
        """Let others take over at once, if this process leads. From then on it writes nothing."""
        self._released = True
        try:
            async with asyncio.timeout(_PATIENCE), self._writing:  # a renewal under way would come in between
                lease = self._election.release()
                self._wake.set()
                if lease is None:
                    return
                await self._replace(lease)
        except (KubeError, TimeoutError, MalformedObjectError) as error:
            self._election.release()
            _log.warning(
                'lease not given back, others wait until it ends lease=%s error="%s"', self._path, error
            )
        else:
            _log.info("lease given back lease=%s", self._path)

    # --- the campaign --------------------------------------------------------------------------------------

    async def _campaign(self) -> None:
        await self._reflector.wait_synced()
        election = self._election
        while True:
            self._wake.clear()
            write = election.next_write()
            if election.role is Role.ENDED:
                if self._released:
                    return
                raise LeadershipLostError(
                    f"lease {self._path}: not renewed in time, or taken by another process"
                )
            if write is not None:
                async with self._writing:
                    await self._carry_out(write)
            self._tell()
            seconds = max(election.due() - self._clock(), 0.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)

    async def _carry_out(self, write: LeaseWrite) -> None:
        election = self._election
        leads = election.role is Role.LEADER
        patience = min(election.deadline - self._clock(), self._renewal_seconds) if leads else _PATIENCE
        try:
            async with asyncio.timeout(max(patience, 0.0)):
                try:
                    election.note_written(write, await self._replace(write.lease))
                except ApiError as error:
                    if not (error.conflict or error.not_found):
                        raise
                    election.outrun(await self._read())
        except (KubeError, TimeoutError, MalformedObjectError) as error:
            _log.warning('lease not written, trying again lease=%s error="%s"', self._path, error)

    async def _replace(self, lease: Lease) -> Lease:
        """Write the Lease in place of the version that it names, or create it if it names none."""
        metadata, spec = msgspec.to_builtins(lease.metadata), msgspec.to_builtins(lease.spec)
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        if not lease.metadata.resource_version:
            return decode_object(
                await self._transport.post(self._collection, msgspec.json.encode(body)), Lease
            )
        # Null takes out what the one before has written; a holder must not be empty.
        body["spec"] = {"holderIdentity": None, "leaseTransitions": 0, **spec}
        return decode_object(
            await self._transport.patch(self._path, msgspec.json.encode(body), MERGE_PATCH), Lease
        )

    async def _read(self) -> Lease | None:
        found = await self._transport.find(self._path)
        return None if found is None else decode_object(found, Lease)

    def _follow(self, changes: Sequence[Change[Lease]]) -> None:
        for change in changes:
            self._election.observe(change.object)

    def _tell(self) -> None:
        election = self._election
        if election.role is Role.LEADER:
            said: tuple[str, object] = ("leading lease=%s fencing=%s", election.fencing)
        else:
            said = ('standing by lease=%s leader="%s"', election.holder)
        if said != self._said:
            self._said = said
            _log.info(said[0], self._path, said[1])
        if election.role is Role.LEADER:
            self._elected.set()


class OnlyBridge:
    """The leadership of a bridge that no other stands by: it leads from the start, until its process ends."""

    role = Role.LEADER

    def __init__(self, fencing: int) -> None:
        self.fencing = fencing

    def may_write(self) -> bool:
        """Return whether it may change the cluster: at any time."""
        return True

    async def wait_elected(self) -> None:
        """Return at once."""

    async def run(self) -> None:
        """Do nothing until cancelled."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: solvers know how long to wait for who comes next."""


Leadership: TypeAlias = Elector | OnlyBridge
"""What the rest of a bridge asks whether this process is the one that decides for its cluster."""


def own_namespace(path: Path = _NAMESPACE_FILE) -> str:
    """Return the namespace of the pod that this runs in, ``default`` outside a cluster."""
    try:
        return path.read_text("utf-8").strip() or "default"
    except OSError:
        return "default"

"""Takes part in an election by a Lease: watches the Lease, takes it when it is free, renews it and gives it back."""

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
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.leadership.election import Election, LeaseWrite, Role
from poseidon.leadership.options import LeaderElectionOptions

_log = logging.getLogger(__name__)

_PATIENCE = 2.0
"""Longest time in seconds for a write that is no renewal."""
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class LeadershipLostError(Exception):
    """This process does not lead any more. It must stop, because another process may lead by now."""


class Elector:
    """A candidate of the election by the Lease that ``options`` name.

    ``identity``: a name that no other candidate has. ``environment`` must allow writes at any time.
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
        self._renewal_seconds = (
            options.renew_deadline / 2
        )  # half of the time, so that a second try is possible if the first request hangs
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
        """The fencing number of this leader, larger than the numbers of all earlier leaders; 0 before it leads."""
        return self._election.fencing

    @property
    def role(self) -> Role:
        """The role of this process in the election."""
        return self._election.role

    def may_write(self) -> bool:
        """Return whether this process may change the cluster now."""
        return self._election.may_write()

    async def wait_elected(self) -> None:
        """Wait until this process leads."""
        await self._elected.wait()

    async def run(self) -> None:
        """Stand for election and renew the Lease, until cancelled or released. Raises ``LeadershipLostError``."""
        following = asyncio.create_task(self._reflector.run(), name="lease")
        try:
            await self._campaign()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def release(self) -> None:
        """Stop leading, and write the Lease so that another process can take over at once."""
        self._released = True
        try:
            async with asyncio.timeout(_PATIENCE), self._writing:  # A renewal under way has to end first.
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

    # --- standing for election -----------------------------------------------------------------------------

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
            self._announce_role()
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
                    election.note_overtaken(await self._read())
        except (KubeError, TimeoutError, MalformedObjectError) as error:
            _log.warning('lease not written, trying again lease=%s error="%s"', self._path, error)

    async def _replace(self, lease: Lease) -> Lease:
        """Replace the Lease if it still has the resource version in ``lease``; without a version, create it."""
        metadata, spec = msgspec.to_builtins(lease.metadata), msgspec.to_builtins(lease.spec)
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        if not lease.metadata.resource_version:
            return decode_object(
                await self._transport.post(self._collection, msgspec.json.encode(body)), Lease
            )
        # A null holder removes the former holder; the API server refuses an empty name.
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

    def _announce_role(self) -> None:
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
    """The leadership of a bridge that runs alone: it leads from start to end."""

    role = Role.LEADER

    def __init__(self, fencing: int) -> None:
        self.fencing = fencing

    def may_write(self) -> bool:
        """Return True: this bridge may change the cluster at any time."""
        return True

    async def wait_elected(self) -> None:
        """Return at once."""

    async def run(self) -> None:
        """Do nothing until cancelled."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: without election, no Lease has to be given back."""


Leadership: TypeAlias = Elector | OnlyBridge
"""The two kinds of leadership: by an election, or of a bridge that runs alone."""


def own_namespace(path: Path = _NAMESPACE_FILE) -> str:
    """Return the namespace of the pod that this process runs in, ``default`` outside a cluster."""
    try:
        return path.read_text("utf-8").strip() or "default"
    except OSError:
        return "default"

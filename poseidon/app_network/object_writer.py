"""Writes a controller's proposal for an object, unless the object has changed meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from poseidon.app_network.spec.keys import APP_GROUP_KIND, TOPOLOGY_KIND, ObjectKey
from poseidon.kube.api.collections import APP_GROUPS, NETWORK_TOPOLOGIES
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.client.media_types import MERGE_PATCH

if TYPE_CHECKING:
    from poseidon.app_network.proposals import Proposal
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

Written: TypeAlias = AppGroup | NetworkTopology
T = TypeVar("T")

_RESOURCES: dict[str, Resource[Any]] = {APP_GROUP_KIND: APP_GROUPS, TOPOLOGY_KIND: NETWORK_TOPOLOGIES}


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The object after a write, None if the object does not exist any more.

    ``conflict``: whether nothing was written because the object had changed meanwhile.
    """

    found: Written | None
    conflict: bool = False


class ObjectWriter:
    """A client that patches objects only if their uid and version are the expected ones."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def write(self, proposal: Proposal) -> WriteOutcome:
        """Write a proposal; return the outcome.

        Raises ``KubeError`` for failures other than a conflict or a missing object. If the CRD has a status
        subresource, the API server ignores the status in the first patch, and a second patch writes it.
        """
        path = path_of(proposal.key)
        try:
            found = await self._patch(path, proposal.key, _body(proposal))
            status = proposal.status
            if found is not None and status and not _says(found, status):
                metadata = {"uid": proposal.uid, "resourceVersion": found.metadata.resource_version}
                body = {"metadata": metadata, "status": status}
                # Without a status subresource, the API server answers 404, and the first patch has already written
                # the status.
                found = await _if_there(self._patch(f"{path}/status", proposal.key, body), found)
        except ApiError as error:
            if error.conflict:
                return WriteOutcome(await _if_there(self._read(path, proposal.key), None), conflict=True)
            if error.not_found:
                return WriteOutcome(None)
            raise
        return WriteOutcome(found)

    async def _patch(self, path: str, key: ObjectKey, body: dict[str, Any]) -> Written:
        raw = await self._transport.patch(path, msgspec.json.encode(body), MERGE_PATCH)
        return _decode(raw, key, path)

    async def _read(self, path: str, key: ObjectKey) -> Written:
        return _decode(await self._transport.get(path), key, path)


async def _if_there(asked: Awaitable[Written], otherwise: T) -> Written | T:
    """Return the answer to a request, or ``otherwise`` if the API server answers "not found"."""
    try:
        return await asked
    except ApiError as error:
        if error.not_found:
            return otherwise
        raise


def path_of(key: ObjectKey) -> str:
    """Return the URL path of an object."""
    group, _, plural = _RESOURCES[key.kind].path.rpartition("/")
    return f"{group}/namespaces/{key.namespace}/{plural}/{key.name}"


def _body(proposal: Proposal) -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": proposal.uid, "resourceVersion": proposal.version}
    body: dict[str, Any] = {"metadata": metadata}
    if proposal.annotations is not None:
        metadata["annotations"] = dict(proposal.annotations)
    if proposal.spec is not None:
        body["spec"] = proposal.spec
    if proposal.status is not None:
        body["status"] = proposal.status
    return body


def _says(found: Written, status: Any) -> bool:
    given = found.status if isinstance(found.status, dict) else {}
    return all(given.get(name) == value for name, value in status.items())


def _decode(raw: bytes, key: ObjectKey, path: str) -> Written:
    try:
        return decode_object(raw, _RESOURCES[key.kind].kind)
    except MalformedObjectError as error:
        raise UnreachableError(f"{path}: the answer is not a {key.kind}: {error}") from error

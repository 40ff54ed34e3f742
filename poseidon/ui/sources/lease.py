"""Reads which bridge is the leader, from the leader's Lease."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from poseidon.kube.api.coordination import Lease
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.client.errors import KubeError

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.kube.client.transport import Transport
    from poseidon.ui.page_data import Known

_DEFAULT_NAME = "poseidon"
_DEFAULT_NAMESPACE = "poseidon"


class LeasePoll:
    """Reads the Lease that the configuration names."""

    def __init__(self, known: Known, transport: Transport, configuration: BridgeConfiguration | None) -> None:
        self._known = known
        self._transport = transport
        name, namespace = _DEFAULT_NAME, _DEFAULT_NAMESPACE
        if configuration is not None:
            name = configuration.leader_election.resource_name
            namespace = configuration.leader_election.resource_namespace or namespace
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases/{quote(name)}"

    async def step(self) -> None:
        """Read the Lease once; if it is missing or may not be read, nothing changes."""
        try:
            found = decode_object(await self._transport.get(self._path), Lease)
        except (KubeError, MalformedObjectError):
            return
        if self._known.leader.set_holder(found.spec.holder_identity or None):
            self._known.versions.mark("overview")

"""Measures the latency of each pair of zones and regions between two nodes, and writes it to a ConfigMap."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from poseidon.agents.round_trip import Latency, MeasureError, ask
from poseidon.app_network.spec.keys import domain_of
from poseidon.app_network.spec.netperf import is_measurement, measurement_keys
from poseidon.kube.api.collections import NODES
from poseidon.kube.api.decoding import decode_object
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.watch.listing import pages

if TYPE_CHECKING:
    from poseidon.app_network.spec.keys import Domain
    from poseidon.app_network.spec.netperf import NodePair
    from poseidon.kube.client.transport import Transport

_log = logging.getLogger(__name__)

_PAGE = 500
_LONGEST_KEY = 253
"""The largest number of characters of a key in a ConfigMap."""
_ATTEMPTS = 5


class _AgentSpec(KubeStruct, frozen=True):
    node_name: str = ""


class _AgentStatus(KubeStruct, frozen=True):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")


class _Agent(KubeStruct, frozen=True):
    """A pod of the DaemonSet that runs the servers, with only the fields that the probe needs."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _AgentSpec = _AgentSpec()
    status: _AgentStatus = _AgentStatus()


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The settings of the probe.

    The ConfigMap ``config_map`` and the servers' pods are in ``namespace``; these pods have ``labels`` and listen at
    ``port``. Each pair is measured for ``seconds``, with at most ``samples`` round trips.
    """

    namespace: str
    labels: Mapping[str, str]
    port: int
    config_map: str = "netperf-metrics"
    seconds: float = 2.0
    samples: int = 1000


class NetperfProbe:
    """The probe that measures the latency of each pair of zones and of regions between two nodes, one after another."""

    def __init__(self, transport: Transport, options: ProbeOptions) -> None:
        self._transport = transport
        self._options = options

    async def probe(self) -> dict[NodePair, Latency]:
        """Measure all pairs once and write the results; raise ``KubeError`` if a request fails.

        A pair that cannot be measured is logged. The earlier figure of such a pair stays in the ConfigMap as long as
        both nodes exist.
        """
        options, servers = self._options, await self._servers()
        domains = {}
        async for page in pages(self._transport, NODES, _PAGE):
            for node in page.items:
                domains[node.metadata.name] = domain_of(node.metadata.labels)
        reachable = {name: domain for name, domain in domains.items() if name in servers}
        found: dict[NodePair, Latency] = {}
        for pair in node_pairs(reachable):
            try:
                host, target = (servers[name] for name in pair)
                found[pair] = await ask(
                    host, options.port, target, seconds=options.seconds, samples=options.samples
                )
            except MeasureError as error:
                _log.warning('not measured origin=%s destination=%s error="%s"', *pair, error)
        await self._write(found, domains)
        _log.info("measured pairs=%d nodes=%d servers=%d", len(found), len(domains), len(servers))
        return found

    async def _servers(self) -> dict[str, str]:
        """Return the address of each node's server."""
        path = f"/api/v1/namespaces/{self._options.namespace}/pods"
        wanted = self._options.labels.items()
        found: dict[str, str] = {}
        async for page in pages(self._transport, Resource("pods", path, _Agent), _PAGE):
            for pod in page.items:
                runs = pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
                if runs and pod.status.pod_ip and wanted <= pod.metadata.labels.items():
                    found[pod.spec.node_name] = pod.status.pod_ip
        return found

    async def _write(self, found: Mapping[NodePair, Latency], domains: Mapping[str, Domain]) -> None:
        """Write measurements to the ConfigMap, and remove obsolete measurements."""
        written = entries(found)
        collection = f"/api/v1/namespaces/{self._options.namespace}/configmaps"
        path = f"{collection}/{self._options.config_map}"
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._write_once(collection, path, written, obsolete_keys(found, domains))
            except ApiError as error:
                if attempt == _ATTEMPTS or not (error.conflict or error.transient):
                    raise
                await asyncio.sleep(error.retry_after or 0.1 * attempt)
            else:
                return

    async def _write_once(
        self, collection: str, path: str, written: Mapping[str, str], obsolete: Callable[[str], bool]
    ) -> None:
        found = await self._transport.find(path)
        if found is None:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._options.config_map},
                "data": written,
            }
            await self._transport.post(collection, msgspec.json.encode(body))
            return
        present = decode_object(found, ConfigMap)
        stale = {key: None for key in present.data if is_measurement(key) and obsolete(key)}
        metadata = {"resourceVersion": present.metadata.resource_version}
        change = {"metadata": metadata, "data": {**stale, **written}}
        await self._transport.patch(path, msgspec.json.encode(change), MERGE_PATCH)


def node_pairs(domains: Mapping[str, Domain]) -> list[NodePair]:
    """Return the pairs of nodes to measure, in both directions, among the nodes that have a server.

    The zone's first node by name represents the zone, and the node of a region's first zone represents the region. A
    node without a zone represents only its region, and a node without a region represents only its zone.
    """
    zones: dict[tuple[str, str], str] = {}
    regions: dict[str, str] = {}
    for name in sorted(domains, key=lambda node: (domains[node], node)):
        region, zone = domains[name]
        if zone:
            zones.setdefault((region, zone), name)
        if region:
            regions.setdefault(region, name)
    pairs = list(combinations(regions.values(), 2))
    for (here, there), (one, other) in zip(
        combinations(zones, 2), combinations(zones.values(), 2), strict=True
    ):
        if here[0] == there[0]:
            pairs.append((one, other))
    return [pair for one, other in pairs for pair in ((one, other), (other, one))]


def entries(found: Mapping[NodePair, Latency]) -> dict[str, str]:
    """Return the entries of the probe's ConfigMap: each measurement in milliseconds and in microseconds, rounded up."""
    data = {}
    for pair, latency in found.items():
        for percentile, microseconds in asdict(latency).items():
            keys = measurement_keys(percentile, pair)
            if max(map(len, keys.values())) > _LONGEST_KEY:
                _log.warning("names too long for a ConfigMap origin=%s destination=%s", *pair)
                break
            data[keys["microseconds"]] = str(math.ceil(microseconds))
            data[keys["milliseconds"]] = str(math.ceil(microseconds / 1000))
    return data


def obsolete_keys(found: Mapping[NodePair, Latency], domains: Mapping[str, Domain]) -> Callable[[str], bool]:
    """Return a function that says whether a key of the ConfigMap is obsolete.

    A key is obsolete if one of its nodes does not exist any more, or if other nodes now measure its zones.
    """

    def link(pair: NodePair) -> tuple[str, ...]:
        here, there = (domains[name] for name in pair)
        if here.region != there.region:
            return (here.region, there.region)
        return (here.region, here.zone, there.zone)

    links = {link(pair) for pair in found}

    def is_obsolete(key: str) -> bool:
        origin, _, destination = key.partition(".origin.")[2].partition(".destination.")
        if origin not in domains or destination not in domains:
            return True
        return (origin, destination) not in found and link((origin, destination)) in links

    return is_obsolete

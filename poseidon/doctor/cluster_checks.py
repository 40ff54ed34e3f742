"""Checks the cluster's nodes, clocks, sources of measured use, and the leader's Lease."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import aiohttp

from poseidon.configuration.document import BridgeConfiguration
from poseidon.doctor.findings import Finding, Verdict
from poseidon.kube.api.collections import NODES
from poseidon.kube.api.coordination import Lease
from poseidon.kube.api.decoding import MalformedObjectError, decode_object, decode_page
from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.nodes import Node
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.transport import Transport
from poseidon.leadership.options import LeaderElectionOptions
from protos.conventions.secrets import redact_credentials, redact_value

MOST_SKEW = 5.0
"""The most seconds by which clocks may differ; the API server states whole seconds, and its answers take time."""

_PROMETHEUS_SECONDS = 5.0


async def cluster_findings(
    transport: Transport, configuration: BridgeConfiguration, namespace: str, wall: Callable[[], float]
) -> AsyncIterator[Finding]:
    """Yield findings about the cluster; ``namespace`` is the bridge's own namespace, which holds its Lease."""
    yield await _clock(transport, wall)
    yield await _nodes(transport)
    election = configuration.leader_election
    if election.leader_elect:
        yield await _leader(transport, election, election.resource_namespace or namespace, wall)
    use = configuration.utilisation
    if use.metrics_server.mode != "off":
        yield await _source(transport, "metrics.k8s.io", "install metrics-server, or set it to off")
    others = use.prometheus is not None or use.metrics_server.mode != "off"
    if not others and any(model.name == "load_threshold" for model in configuration.all_cost_models):
        cure = "install koordlet, or configure another source under utilisation"
        yield await _source(transport, "slo.koordinator.sh", cure)
    if use.prometheus is not None:
        yield await _prometheus(use.prometheus.url)


async def _clock(transport: Transport, wall: Callable[[], float]) -> Finding:
    try:
        theirs = await transport.server_time()
    except KubeError as error:
        return Finding("clock", Verdict.WARNING, str(error))
    if theirs is None:
        return Finding("clock", Verdict.OK, "the API server's answers lack its time")
    skew = wall() - theirs
    if abs(skew) > MOST_SKEW:
        which = "ahead of" if skew > 0 else "behind"
        text = f"{abs(skew):.0f} s {which} the API server's; synchronise the clocks (NTP)"
        return Finding("clock", Verdict.WARNING, text)
    return Finding("clock", Verdict.OK, "as the API server's")


async def _nodes(transport: Transport) -> Finding:
    try:
        body = await transport.get(NODES.path, NODES.query(limit="500", resourceVersion="0"))
        nodes = decode_page(body, NODES.kind).items
    except (KubeError, MalformedObjectError) as error:
        return Finding("nodes", Verdict.WARNING, f"cannot be listed: {error}")
    ready = sum(_is_usable(each) for each in nodes)
    if not nodes:
        return Finding("nodes", Verdict.WARNING, "there are none; every pod will wait")
    if not ready:
        text = f"none of {len(nodes)} is ready and schedulable; every pod will wait"
        return Finding("nodes", Verdict.WARNING, text)
    return Finding("nodes", Verdict.OK, f"{ready} of {len(nodes)} ready and schedulable")


def _is_usable(node: Node) -> bool:
    ready = any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
    return ready and not node.spec.unschedulable


async def _leader(
    transport: Transport, election: LeaderElectionOptions, namespace: str, wall: Callable[[], float]
) -> Finding:
    name = election.resource_name
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    try:
        found = await transport.find(path)
        if found is None:
            return Finding("leader", Verdict.OK, "no bridge has led yet")
        spec = decode_object(found, Lease).spec
    except (KubeError, MalformedObjectError) as error:
        return Finding("leader", Verdict.WARNING, str(error))
    renewed = seconds(spec.renew_time)
    if not spec.holder_identity:
        return Finding("leader", Verdict.WARNING, "no bridge leads; start one")
    longest = election.longest_lease
    if spec.lease_duration_seconds > longest:
        text = (
            f"{spec.holder_identity} holds the Lease for {spec.lease_duration_seconds} s, which no bridge writes; it "
            f"counts as {longest:.0f} s; find out who that is, then: kubectl -n {namespace} delete lease {name}"
        )
        return Finding("leader", Verdict.WARNING, text)
    if renewed is not None and wall() - renewed > spec.lease_duration_seconds + MOST_SKEW:
        ago = f"{wall() - renewed:.0f} s ago"
        text = f"{spec.holder_identity} renewed its Lease {ago}, and no more; nothing is bound until a bridge runs"
        return Finding("leader", Verdict.WARNING, text)
    return Finding("leader", Verdict.OK, spec.holder_identity)


async def _source(transport: Transport, group: str, cure: str) -> Finding:
    return await check_served(transport, f"measured use {group}", group, cure, Verdict.WARNING)


async def check_served(
    transport: Transport, check: str, group: str, absent: str, verdict: Verdict
) -> Finding:
    """Return a finding that says whether an API group is served; ``absent`` is its text if the group is not."""
    try:
        if await transport.find(f"/apis/{group}") is None:
            return Finding(check, verdict, f"not served; {absent}")
    except KubeError as error:
        return Finding(check, Verdict.WARNING, str(error))
    return Finding(check, Verdict.OK, "served")


async def _prometheus(url: str) -> Finding:
    check, shown = "measured use prometheus", redact_value(url)
    timeout = aiohttp.ClientTimeout(total=_PROMETHEUS_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{url.rstrip('/')}/api/v1/query", params={"query": "1"}) as answer,
        ):
            status = answer.status
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        text = f"{shown}: {redact_credentials(str(error)) or 'no answer'}; correct utilisation.prometheus.url"
        return Finding(check, Verdict.WARNING, text)
    # The bridge's token decides later whether the bridge may read; this check only asks whether a server answers.
    if status in (200, 401, 403):
        return Finding(check, Verdict.OK, f"{shown} answers")
    return Finding(check, Verdict.WARNING, f"{shown}: answers {status}; correct utilisation.prometheus.url")

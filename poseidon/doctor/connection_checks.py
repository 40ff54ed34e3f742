"""Checks whether a bridge would find all that it needs: API server, rights, definitions of objects, solver.

The checks change nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType

import msgspec

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.solver_stream.stream import (
    HelloRefusedError,
    StreamLostError,
    ask_welcome,
    hello_of,
    needs_of,
)
from poseidon.doctor.certificates import check_certificates
from poseidon.doctor.cluster_checks import check_served, cluster_findings
from poseidon.doctor.findings import Finding, Verdict
from poseidon.doctor.rights import Right, Wanted, iter_wanted
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.transport import Transport
from poseidon.pods.visibility import not_understood

OLDEST_MINOR = 30
"""Oldest supported minor version of Kubernetes: 1.30."""

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_AT_A_TIME = 8
_SOLVER_SECONDS = 5.0
DEFINITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "network_overhead": ("appgroup.diktyo.x-k8s.io", "networktopology.diktyo.x-k8s.io"),
        "numa_fit": ("topology.node.k8s.io",),
    }
)
"""API groups whose objects some cost model needs, by name of the model."""


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""
    gitVersion: str = ""  # noqa: N815 - the API's name


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


async def examine(
    transport: Transport,
    options: BridgeOptions,
    observer: str,
    namespace: str,
    wall: Callable[[], float] = time.time,
) -> AsyncIterator[Finding]:
    """Yield all findings; ``observer`` is a cluster name that no bridge uses at the solver.

    ``namespace`` is the bridge's own namespace, which holds its Lease.
    """
    reachable = await _api_server(transport)
    yield reachable
    if reachable.verdict is not Verdict.WRONG:
        for each in iter_wanted(options.configuration, namespace):
            yield await _rights(transport, each)
        for model in sorted(
            {model.name for model in options.configuration.all_cost_models} & DEFINITIONS.keys()
        ):
            absent = f"{model} has no data until the definitions of its objects are installed"
            for group in DEFINITIONS[model]:
                yield await check_served(transport, f"definition {group}", group, absent, Verdict.WRONG)
        async for finding in cluster_findings(transport, options.configuration, namespace, wall):
            yield finding
    if options.session.tls is not None:
        for finding in check_certificates(options.session.tls, wall()):
            yield finding
    for target in options.firmament:
        yield await _solver(target, options, observer)


async def _api_server(transport: Transport) -> Finding:
    try:
        version = msgspec.json.decode(await transport.get("/version"), type=_Version)
        minor = int(version.minor.rstrip("+"))
    except (KubeError, ValueError) as error:
        return Finding("api server", Verdict.WRONG, f"{transport.server}: {error}")
    if version.major != "1" or minor < OLDEST_MINOR:
        text = f"{version.gitVersion} is older than 1.{OLDEST_MINOR}, which is needed"
        return Finding("api server", Verdict.WRONG, text)
    return Finding("api server", Verdict.OK, f"{transport.server} {version.gitVersion}")


async def _rights(transport: Transport, wanted: Wanted) -> Finding:
    """Ask the API server about rights, several at the same time; return one finding about them."""
    check = f"rights {wanted.what}"
    asking = asyncio.Semaphore(_AT_A_TIME)

    async def explain_denied(right: Right) -> str:
        async with asking:
            return "" if await _is_allowed(transport, right) else str(right)

    try:
        found = await asyncio.gather(*map(explain_denied, sorted(wanted.rights)))
    except (KubeError, msgspec.DecodeError) as error:
        return Finding(check, Verdict.WARNING, f"cannot be asked for: {error}")
    missing = [each for each in found if each]
    if not missing:
        return Finding(check, Verdict.OK, f"all {len(found)}")
    folder = f"deploy/{wanted.folder}".removesuffix("/.")
    verdict = Verdict.WRONG if wanted.needed else Verdict.WARNING
    return Finding(
        check, verdict, f"{len(missing)} of {len(found)} missing: {', '.join(missing)}; apply {folder}"
    )


async def _is_allowed(transport: Transport, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": right.verb,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = await transport.post(_REVIEWS, msgspec.json.encode(review))
    return msgspec.json.decode(answer, type=_Review).status.allowed


async def _solver(target: str, options: BridgeOptions, observer: str) -> Finding:
    tls = options.session.tls
    how = "with" if tls is not None else "without"
    hello = hello_of(observer, options.client)
    try:
        async with asyncio.timeout(_SOLVER_SECONDS):
            found = needs_of(await ask_welcome(target, hello, tls))
    except (HelloRefusedError, StreamLostError, TimeoutError) as error:
        text = f"{error or target} ({how} TLS); its log says more"
        return Finding("solver", Verdict.WRONG, text)
    unknown = not_understood(found)
    if unknown:
        text = f"{target}: needs what this version does not tell: {' '.join(unknown)}; upgrade the bridge"
        return Finding("solver", Verdict.WARNING, text)
    return Finding("solver", Verdict.OK, f"{target} answers {how} TLS")

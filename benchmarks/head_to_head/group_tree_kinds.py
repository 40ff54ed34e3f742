"""Serves the kinds of trees of groups (Kubernetes 1.37) from an API server of an older version.

They are defined as custom resources. A server routes all paths below a group of its own to its own versions, so none of
these may be served; with them go PriorityClasses, and the admission plugins that read one of these kinds.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path

import msgspec

from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.objects.custom_resources import definition

RUNTIME = "scheduling.k8s.io/v1=false,scheduling.k8s.io/v1alpha2=false"
"""Value of ``--runtime-config``: no version of the group is the server's own."""
PLUGINS = ("Priority", "PodGroupWorkloadExists", "PodGroupProtection", "JobValidation")
"""Admission plugins that would wait for kinds of this group."""
_GROUP = "scheduling.k8s.io"
_KINDS = (("v1beta1", "podgroups", "PodGroup"), ("v1alpha3", "compositepodgroups", "CompositePodGroup"))
_SECONDS, _POLL_SECONDS = 60.0, 0.2


async def serve_later_kinds(kubeconfig: Path) -> None:
    """Create definitions of the kinds, and wait until these are served. Raises ``ApiError`` or ``TimeoutError``."""
    loop = asyncio.get_running_loop()
    async with Transport(
        load_settings(kubeconfig), clock=loop.time, user_agent="poseidon-bench"
    ) as transport:
        for version, plural, kind in _KINDS:
            schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
            status: dict[str, object] = {"status": {}}
            made = definition(_GROUP, version, plural, kind, schema=schema, subresources=status)
            made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a benchmark"}
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            await transport.post(path, msgspec.json.encode(made))
        async with asyncio.timeout(_SECONDS):
            for version, plural, _ in _KINDS:
                await _wait_until_served(transport, f"/apis/{_GROUP}/{version}/{plural}")


async def _wait_until_served(transport: Transport, path: str) -> None:
    """Wait until a list is answered: at first it is not found, then its storage begins."""
    while True:
        try:
            await transport.get(path)
        except ApiError as error:
            if not error.not_found and error.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return

"""A real API server takes every object as it stands: no field that it does not know, no value that it refuses."""

from __future__ import annotations

import time

import msgspec
import pytest

from benchmarks.judge.control_plane import VARIABLE, ControlPlane, binaries
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from tests.deploy.manifests import BESIDE, WITHIN, Manifest, kustomized, needs_kubectl

BINARIES = binaries()
OF_OTHERS = ("PodMonitor", "PrometheusRule")
"""Kinds of Prometheus' operator."""

pytestmark = [
    needs_kubectl,
    pytest.mark.skipif(BINARIES is None, reason=f"{VARIABLE} names no folder of binaries"),
]


def path_of(each: Manifest) -> str:
    """Where an object of its kind is created."""
    version, kind = each["apiVersion"], each["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("cy") else f"{kind}s"
    namespace = each["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{within}/{plural}"


async def test_every_object_is_taken_in_strict_validation(tmp_path):
    assert BINARIES is not None
    (tmp_path / "kustomization").mkdir()
    objects = kustomized(tmp_path / "kustomization", (*BESIDE, *WITHIN))
    refused = []
    async with (
        ControlPlane(BINARIES, tmp_path) as control_plane,
        Transport(load_settings(control_plane.kubeconfig, None), clock=time.monotonic) as transport,
    ):
        for each in (each for each in objects if each["kind"] not in OF_OTHERS):
            # Namespaces are needed by what is in them; all else is not kept.
            kept = "" if each["kind"] == "Namespace" else "&dryRun=All"
            try:
                await transport.post(
                    f"{path_of(each)}?fieldValidation=Strict{kept}", msgspec.json.encode(each)
                )
            except ApiError as error:
                refused.append(f"{each['kind']} {each['metadata']['name']}: {error}")
        with pytest.raises(ApiError, match="unknown field"):
            await transport.post(
                "/api/v1/namespaces/poseidon/serviceaccounts?fieldValidation=Strict&dryRun=All",
                msgspec.json.encode({"metadata": {"name": "x"}, "spec": {}}),
            )
    assert refused == []

"""A real API server takes every object as it stands: no field that it does not know, no value that it refuses."""

from __future__ import annotations

import time

import msgspec
import pytest

from benchmarks.judge.control_plane import VARIABLE, ControlPlane, binaries
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from tests.deploy.manifests import BESIDE, WITHIN, collection_of, everything, kustomized, needs_kubectl
from tests.support.waiting import until

BINARIES = binaries()
OF_OTHERS = ("PodMonitor", "PrometheusRule")
"""Kinds of Prometheus' operator."""

pytestmark = [
    needs_kubectl,
    pytest.mark.skipif(BINARIES is None, reason=f"{VARIABLE} names no folder of binaries"),
]


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
                    f"{collection_of(each)}?fieldValidation=Strict{kept}", msgspec.json.encode(each)
                )
            except ApiError as error:
                refused.append(f"{each['kind']} {each['metadata']['name']}: {error}")
        with pytest.raises(ApiError, match="unknown field"):
            await transport.post(
                "/api/v1/namespaces/poseidon/serviceaccounts?fieldValidation=Strict&dryRun=All",
                msgspec.json.encode({"metadata": {"name": "x"}, "spec": {}}),
            )
    assert refused == []


async def test_namespaces_opt_in_by_a_label(tmp_path):
    assert BINARIES is not None
    async with (
        ControlPlane(BINARIES, tmp_path) as control_plane,
        Transport(load_settings(control_plane.kubeconfig, None), clock=time.monotonic) as transport,
    ):
        for each in everything("opt-in"):
            await transport.post(collection_of(each), msgspec.json.encode(each))
        for name, labels in (("team", {"firmament.io/scheduler": "poseidon"}), ("other", {})):
            made = {"metadata": {"name": name, "labels": labels}}
            await transport.post("/api/v1/namespaces", msgspec.json.encode(made))

        async def asks_for(namespace: str, **spec: str) -> str:
            made = {"metadata": {"name": "p"}, "spec": {**spec, "containers": [{"name": "c", "image": "i"}]}}
            path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
            return str(
                msgspec.json.decode(await transport.post(path, msgspec.json.encode(made)))["spec"][
                    "schedulerName"
                ]
            )

        async def is_heeded() -> bool:
            return await asks_for("team") == "poseidon"

        await until(is_heeded)  # the API server takes a moment to hear of a policy
        assert await asks_for("team", schedulerName="mine") == "mine"
        assert await asks_for("team", nodeName="n1") == "default-scheduler"
        assert await asks_for("other") == "default-scheduler"

"""Simulates the controllers of volume claims for the judge: binds given volumes, provisions requested ones."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from benchmarks.judge.api import Api
from benchmarks.judge.random_cluster.objects import Object, make_object
from benchmarks.judge.random_cluster.storage import BOUND, DRIVERS
from poseidon.kube.client.errors import KubeError

SELECTED = "volume.kubernetes.io/selected-node"
_PAUSE_SECONDS = 0.1


async def run_claims(api: Api) -> None:
    """Bind claims until cancelled."""
    while True:
        with suppress(KubeError):
            await _settle(api)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _settle(api: Api) -> None:
    claims = {
        (each["metadata"]["namespace"], each["metadata"]["name"]): each
        for each in await api.list_objects("PersistentVolumeClaim")
        if (each.get("status") or {}).get("phase") != "Bound"
    }
    if not claims:
        return
    for volume in await api.list_objects("PersistentVolume"):
        given = volume["spec"].get("claimRef") or {}
        claim = claims.pop((given.get("namespace"), given.get("name")), None)
        if claim is not None:
            await _bind(api, claim, volume)
    for claim in claims.values():
        if SELECTED in (claim["metadata"].get("annotations") or {}):
            await api.create([_provide(claim)])


async def _bind(api: Api, claim: Object, volume: Object) -> None:
    change = {"metadata": {"annotations": BOUND}, "spec": {"volumeName": volume["metadata"]["name"]}}
    await api.patch(claim, change)
    await api.patch(claim, {"status": {"phase": "Bound"}}, "/status")
    await api.patch(volume, {"status": {"phase": "Bound"}}, "/status")


def _provide(claim: Object) -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    volume = make_object("PersistentVolume", f"made-{metadata['uid']}")
    volume["spec"] = {
        "capacity": spec["resources"]["requests"],
        "accessModes": spec["accessModes"],
        "storageClassName": spec["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {key: metadata[key] for key in ("namespace", "name", "uid")},
        "csi": {"driver": DRIVERS[spec["storageClassName"]], "volumeHandle": metadata["uid"]},
    }
    return volume

"""The scenario with devices: a real controller makes and frees claims; ResourceSlices stand for drivers."""

from __future__ import annotations

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.random_cluster.objects import Object, make_object
from benchmarks.judge.staged.scenario_parts import (
    NAMESPACE,
    ScenarioError,
    deployment,
    pods_of,
    reason,
    runs,
    template,
    wait_until,
)

DRIVER, V1 = "gpu.judge.example", "resource.k8s.io/v1"
PER_NODE = 2
_NO_DEVICE = "cannot allocate all claims"


async def devices(api: Api, kubelets: Kubelets) -> str:
    """Check that each pod gets a device of its own, and that devices of ended pods go to waiting ones."""
    total = PER_NODE * len(kubelets.names)
    await api.create([make_class(), make_template(), *(make_slice(name) for name in kubelets.names)])
    named = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    await api.create([deployment("gpu", total + 2, template=template("gpu", resourceClaims=named))])

    async def all_have_one() -> bool:
        alive = [each for each in await pods_of(api, "gpu") if "deletionTimestamp" not in each["metadata"]]
        waiting = [each for each in alive if not each["spec"].get("nodeName")]
        return (
            len(alive) - len(waiting) == total
            and len(waiting) == 2
            and all(_NO_DEVICE in reason(each) for each in waiting)
        )

    await wait_until(f"{total} pods have a device and 2 wait for one", all_have_one)
    await check_devices(api, total)
    await api.delete([each for each in await pods_of(api, "gpu") if each["spec"].get("nodeName")][:3])
    await wait_until(f"{total} pods have a device again", all_have_one)
    await check_devices(api, total)
    await api.patch(deployment("gpu", 0), {"spec": {"replicas": 3}})
    await wait_until("3 pods run", lambda: runs(api, "gpu", 3))

    async def all_are_free() -> bool:
        return len(await _list_claims(api)) == 3

    await wait_until("the claims of pods that are gone are gone", all_are_free)
    await check_devices(api, 3)
    return f"{total} devices were given to {total} pods, three again to others, and all but three given back"


async def check_devices(api: Api, count: int) -> None:
    """Raise ``ScenarioError`` unless ``count`` pods have one device each, on their nodes, and no device is given
    twice.
    """
    places = {each["metadata"]["uid"]: each["spec"].get("nodeName") for each in await pods_of(api, "gpu")}
    owners: dict[tuple[str, str], str] = {}
    for claim in await _list_claims(api):
        name, status = claim["metadata"]["name"], claim.get("status") or {}
        allocation = status.get("allocation")
        for each in allocation["devices"]["results"] if allocation else ():
            device = each["pool"], each["device"]
            if device in owners:
                raise ScenarioError(f"{'/'.join(device)} is had by {owners[device]} and {name}")
            owners[device] = name
            users = [consumer["uid"] for consumer in status.get("reservedFor") or ()]
            if [places.get(uid) for uid in users] != [each["pool"]]:
                raise ScenarioError(f"{name} has {'/'.join(device)}, and is reserved for {users or 'nobody'}")
    if len(owners) != count:
        raise ScenarioError(f"{len(owners)} devices are had, not {count}")


async def _list_claims(api: Api) -> list[Object]:
    return await api.list_objects("ResourceClaim")


def make_class() -> Object:
    """Return the device class of the driver."""
    made = make_object("DeviceClass", "gpu", V1)
    made["spec"] = {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
    return made


def make_template() -> Object:
    """Return a template of claims for one device."""
    made = make_object("ResourceClaimTemplate", "one-gpu", V1)
    made["metadata"]["namespace"] = NAMESPACE
    made["spec"] = {
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
    }
    return made


def make_slice(node: str, count: int = PER_NODE) -> Object:
    """Return the slice of a node with ``count`` devices."""
    made = make_object("ResourceSlice", f"{node}-gpus", V1)
    made["spec"] = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{index}"} for index in range(count)],
    }
    return made

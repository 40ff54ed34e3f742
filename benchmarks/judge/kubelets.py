"""Simulates kubelets: nodes renew their leases, pods run at once and end within their grace period."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from benchmarks.judge.api import Api
from benchmarks.judge.random_cluster.objects import HOSTNAME, Object, make_object
from poseidon.kube.client.errors import ApiError, KubeError

LEASES = "kube-node-lease"
ENDS_AFTER = "judge.example/ends-after"
"""Annotation of pods: seconds that they take to end, at most their grace period."""

_LOOK_SECONDS, _LEASE_SECONDS, _SHUTDOWN_SECONDS = 0.15, 1.0, 0.3


class Kubelets:
    """A kubelet per node of ``names``. ``silent``: nodes whose kubelet does nothing, as if it were dead."""

    def __init__(self, api: Api, names: tuple[str, ...], cpu: str = "4") -> None:
        self._api = api
        self.names = names
        self._cpu = cpu
        self._dying: dict[str, float] = {}
        self.silent: set[str] = set()

    async def register(self) -> None:
        """Create the nodes, with a lease each."""
        await self._api.create([self._node(name) for name in self.names])
        await self._api.create([_lease(name) for name in self.names])

    async def run(self) -> None:
        """Run all kubelets until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_leases())
            group.create_task(self._keep_pods())

    async def _keep_leases(self) -> None:
        while True:
            for name in set(self.names) - self.silent:
                with suppress(KubeError):
                    await self._api.patch(_lease(name), {"spec": {"renewTime": _now()}})
                    await self._report_ready(name)
            await asyncio.sleep(_LEASE_SECONDS)

    async def _report_ready(self, name: str) -> None:
        node = await self._api.get(make_object("Node", name))
        ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        if ready["status"] != "True":
            await self._api.patch(node, {"status": {"conditions": [_ready()]}}, "/status")

    async def _keep_pods(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            with suppress(KubeError):
                for pod in await self._api.list_objects("Pod"):
                    if pod["spec"].get("nodeName", "") in set(self.names) - self.silent:
                        await self._keep(pod, clock())
            await asyncio.sleep(_LOOK_SECONDS)

    async def _keep(self, pod: Object, now: float) -> None:
        with suppress(ApiError):  # the pod has changed or is gone, which the next iteration notices
            if "deletionTimestamp" in pod["metadata"]:
                since = self._dying.setdefault(pod["metadata"]["uid"], now)
                grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
                takes = float(pod["metadata"].get("annotations", {}).get(ENDS_AFTER, _SHUTDOWN_SECONDS))
                if now - since >= min(grace, takes):
                    await self._api.delete([pod])
            elif pod["status"].get("phase") == "Pending":
                await self._api.patch(pod, {"status": _running(pod)}, "/status")

    def _node(self, name: str) -> Object:
        node = make_object("Node", name)
        node["metadata"]["labels"] = {HOSTNAME: name}
        offered = {"cpu": self._cpu, "memory": "8Gi", "pods": "20"}
        node["status"] = {"capacity": offered, "allocatable": offered, "conditions": [_ready()]}
        return node


def _lease(name: str) -> Object:
    lease = make_object("Lease", name, "coordination.k8s.io/v1")
    lease["metadata"]["namespace"] = LEASES
    lease["spec"] = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": _now()}
    return lease


def _ready() -> Object:
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fake"}
    return {**condition, "lastHeartbeatTime": _seconds(), "lastTransitionTime": _seconds()}


def _running(pod: Object) -> Object:
    types = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled")
    containers = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": each["image"],
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": _seconds()}},
        }
        for each in pod["spec"]["containers"]
    ]
    conditions = [{"type": each, "status": "True", "lastTransitionTime": _seconds()} for each in types]
    return {
        "phase": "Running",
        "startTime": _seconds(),
        "conditions": conditions,
        "containerStatuses": containers,
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _seconds() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

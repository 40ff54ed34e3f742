"""Helpers for scenarios: objects, checks, and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import ENDS_AFTER
from benchmarks.judge.random_cluster.objects import HOSTNAME, OURS, Object, expression, make_object

NAMESPACE = "red"
_SECONDS, _POLL_SECONDS = 90.0, 0.2
_PATIENCE = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    for what in ("not-ready", "unreachable")
]


class ScenarioError(Exception):
    """An expected result has not come about; the text is one line."""


def template(app: str, **spec: object) -> Object:
    """Return a pod template of an application, for our scheduler."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "main", "image": "registry.example/app:1", "resources": resources}
    pod = {"schedulerName": OURS, "terminationGracePeriodSeconds": 1, "tolerations": _PATIENCE}
    return {"metadata": {"labels": {"app": app}}, "spec": {**pod, "containers": [container], **spec}}


def make_sized_pod(name: str, level: str, scheduler: str, node: str, many: int, ends: int = 0) -> Object:
    """Return a pod confined to ``node``, which requests 1/``many`` of its 4 cores."""
    pod = dict(template(f"{scheduler}-{many}"), apiVersion="v1", kind="Pod")
    pod["metadata"] |= {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {ENDS_AFTER: str(ends)} if ends else {},
    }
    pod["spec"] |= {
        "schedulerName": scheduler,
        "priorityClassName": level,
        "nodeSelector": {HOSTNAME: node},
        "terminationGracePeriodSeconds": max(1, ends),
    }
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{4000 // many}m", "memory": "64Mi"}}
    return pod


def deployment(app: str, replicas: int, **more: object) -> Object:
    """Return a Deployment of an application for our scheduler."""
    made = make_object("Deployment", app, "apps/v1")
    made["metadata"]["namespace"] = NAMESPACE
    selector = {"matchLabels": {"app": app}}
    made["spec"] = {"replicas": replicas, "selector": selector, "template": template(app), **more}
    return made


def stateful_set(app: str, replicas: int) -> Object:
    """Return a StatefulSet of an application for our scheduler, with a disk for each pod."""
    made = deployment(app, replicas, serviceName=app, podManagementPolicy="Parallel")
    made["kind"] = "StatefulSet"
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disks",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return made


def disks(nodes: tuple[str, ...]) -> list[Object]:
    """Return a class of local volumes, and one volume on each of some nodes."""
    disks = make_object(
        "StorageClass",
        "disks",
        "storage.k8s.io/v1",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    made = [disks]
    for name in nodes:
        volume = make_object("PersistentVolume", f"disk-{name}")
        at = {"nodeSelectorTerms": [{"matchExpressions": [expression(HOSTNAME, "In", name)]}]}
        volume["spec"] = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks",
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": at},
        }
        made.append(volume)
    return made


async def pods_of(api: Api, app: str) -> list[Object]:
    """Return the pods of an application."""
    return [
        each for each in await api.list_objects("Pod") if each["metadata"].get("labels", {}).get("app") == app
    ]


async def places_of(api: Api, app: str) -> dict[str, str]:
    """Return the node of each pod of an application, by name."""
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in await pods_of(api, app)}


def is_running(pod: Object) -> bool:
    """Return whether a pod runs."""
    return bool(pod["status"].get("phase") == "Running")


def is_available(pod: Object) -> bool:
    """Return whether a pod runs and is not being deleted."""
    return is_running(pod) and "deletionTimestamp" not in pod["metadata"]


def reason(pod: Object) -> str:
    """Return the message of a pod's scheduling condition."""
    conditions = pod["status"].get("conditions") or ()
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


async def runs(api: Api, app: str, count: int) -> bool:
    """Return whether exactly ``count`` pods of an application exist, and all run."""
    pods = await pods_of(api, app)
    return len(pods) == count and all(map(is_available, pods))


async def wait_until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until ``holds`` is true; raises ``ScenarioError`` if it takes too long."""
    clock = asyncio.get_running_loop().time
    end = clock() + _SECONDS
    while not await holds():
        if clock() > end:
            raise ScenarioError(f"not within {_SECONDS:.0f} s: {what}")
        await asyncio.sleep(_POLL_SECONDS)

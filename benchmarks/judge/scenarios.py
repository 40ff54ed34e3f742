"""What controllers and people do to a cluster, with the outcome that must follow: each scenario checks itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.objects import HOSTNAME, OURS, Object, expression, named
from poseidon.kube.errors import ApiError

NAMESPACE = "red"
_SECONDS, _POLL_SECONDS = 90.0, 0.2
_PATIENCE = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    for what in ("not-ready", "unreachable")
]


class ScenarioError(Exception):
    """What should have come about has not; one line."""


async def lost_lease(api: Api, kubelets: Kubelets) -> str:
    """A node stops renewing its lease: its pods are replaced elsewhere; when it is back, it is used again."""
    await api.create([_deployment("web", 8)])
    await _until("8 pods run", lambda: _runs(api, "web", 8))
    lost = Counter(each["spec"]["nodeName"] for each in await _pods(api, "web")).most_common(1)[0][0]
    kubelets.silent.add(lost)

    async def moved() -> bool:
        alive = [each for each in await _pods(api, "web") if "deletionTimestamp" not in each["metadata"]]
        return len(alive) == 8 and all(
            _is_running(each) and each["spec"]["nodeName"] != lost for each in alive
        )

    await _until(f"8 pods run elsewhere than on {lost}", moved)
    kubelets.silent.discard(lost)
    await _until("8 pods run and none is left over", lambda: _runs(api, "web", 8))
    await api.patch(_deployment("web", 0), {"spec": {"replicas": 40}})

    async def used_again() -> bool:
        return any(each["spec"].get("nodeName") == lost for each in await _pods(api, "web"))

    await _until(f"{lost} is used again", used_again)
    await _until("40 pods run", lambda: _runs(api, "web", 40))
    return f"the pods of {lost} ran elsewhere, and it took pods again once it was back"


async def local_volumes(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """A StatefulSet on local volumes: one pod per disk, and a pod that is deleted comes back to its own."""
    await api.create(_disks(("n0", "n1", "n2")))
    await api.create([_stateful_set("db", 3)])
    await _until("3 pods run", lambda: _runs(api, "db", 3))
    before = await _places(api, "db")
    if sorted(before.values()) != ["n0", "n1", "n2"]:
        raise ScenarioError(f"pods are on {before}, not one on each node with a disk")
    victim = next(each for each in await _pods(api, "db") if each["metadata"]["name"] == "db-1")
    await api.delete([victim])

    async def another() -> bool:
        found = {each["metadata"]["name"]: each for each in await _pods(api, "db")}
        fresh = found.get("db-1")
        return (
            fresh is not None and _is_running(fresh) and fresh["metadata"]["uid"] != victim["metadata"]["uid"]
        )

    await _until("db-1 runs again", another)
    after = await _places(api, "db")
    if after != before:
        raise ScenarioError(f"pods were on {before} and are on {after}")
    await api.patch(_stateful_set("db", 3), {"spec": {"replicas": 4}})

    async def waits() -> bool:
        fourth = [each for each in await _pods(api, "db") if each["metadata"]["name"] == "db-3"]
        return bool(fourth) and "didn't find available persistent volumes" in _reason(fourth[0])

    await _until("db-3 waits for a disk and says so", waits)
    await api.create(_disks(("n3",)))
    await _until("4 pods run", lambda: _runs(api, "db", 4))
    if (await _places(api, "db"))["db-3"] != "n3":
        raise ScenarioError("db-3 is not where the new disk is")
    return f"one pod per disk, back to it after a deletion: {after}; a fourth waited for a disk"


async def drain(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """A node is drained under a budget: it ends empty, and never are fewer pods available than the budget says."""
    budget = named("PodDisruptionBudget", "shop", "policy/v1")
    budget["metadata"]["namespace"] = NAMESPACE
    budget["spec"] = {"minAvailable": 5, "selector": {"matchLabels": {"app": "shop"}}}
    await api.create([_deployment("shop", 6), budget])
    await _until("6 pods run", lambda: _runs(api, "shop", 6))
    drained = (await _pods(api, "shop"))[0]["spec"]["nodeName"]
    await api.patch(named("Node", drained), {"spec": {"unschedulable": True}})
    least = 6

    async def empty() -> bool:
        nonlocal least
        pods = await _pods(api, "shop")
        least = min(least, sum(map(_is_available, pods)))
        left = [each for each in pods if each["spec"].get("nodeName") == drained]
        for each in left:
            with suppress(ApiError):  # the budget allows none at the moment, or it is going already
                await api.evict(each)
        return not left and sum(map(_is_available, pods)) == 6

    await _until(f"{drained} is empty and 6 pods run", empty)
    if least < 5:
        raise ScenarioError(f"only {least} pods were available, the budget asks for 5")
    return f"{drained} was emptied with at least {least} of 6 pods available"


async def rolling_update(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """A Deployment with one pod per node is updated: all pods are replaced, and enough stay available."""
    web = _deployment("front", 6, strategy={"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "front"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    web["spec"]["template"]["spec"]["affinity"] = {"podAntiAffinity": required}
    await api.create([web])
    await _until("6 pods run", lambda: _runs(api, "front", 6))
    former = {each["metadata"]["uid"] for each in await _pods(api, "front")}
    label = {"spec": {"template": {"metadata": {"labels": {"app": "front", "version": "2"}}}}}
    await api.patch(web, label)
    least = 6

    async def updated() -> bool:
        nonlocal least
        pods = await _pods(api, "front")
        least = min(least, sum(map(_is_available, pods)))
        fresh = [each for each in pods if each["metadata"]["uid"] not in former]
        return len(pods) == len(fresh) == 6 and all(map(_is_running, fresh))

    await _until("6 new pods run and no old one is left", updated)
    places = Counter((await _places(api, "front")).values())
    if max(places.values()) > 1:
        raise ScenarioError(f"two pods that exclude each other share a node: {dict(places)}")
    if least < 5:
        raise ScenarioError(f"only {least} pods were available, the strategy asks for 5")
    return f"all 6 pods were replaced, one per node, with at least {least} available"


SCENARIOS: dict[str, Callable[[Api, Kubelets], Coroutine[Any, Any, str]]] = {
    "lost-lease": lost_lease,
    "local-volumes": local_volumes,
    "drain": drain,
    "rolling-update": rolling_update,
}


# --- what they are made of -------------------------------------------------------------------------------------------


def _template(app: str, **spec: object) -> Object:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "main", "image": "registry.example/app:1", "resources": resources}
    pod = {"schedulerName": OURS, "terminationGracePeriodSeconds": 1, "tolerations": _PATIENCE}
    return {"metadata": {"labels": {"app": app}}, "spec": {**pod, "containers": [container], **spec}}


def _deployment(app: str, replicas: int, **more: object) -> Object:
    made = named("Deployment", app, "apps/v1")
    made["metadata"]["namespace"] = NAMESPACE
    selector = {"matchLabels": {"app": app}}
    made["spec"] = {"replicas": replicas, "selector": selector, "template": _template(app), **more}
    return made


def _stateful_set(app: str, replicas: int) -> Object:
    made = _deployment(app, replicas, serviceName=app, podManagementPolicy="Parallel")
    made["kind"] = "StatefulSet"
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disks",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return made


def _disks(nodes: tuple[str, ...]) -> list[Object]:
    disks = named(
        "StorageClass",
        "disks",
        "storage.k8s.io/v1",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    made = [disks]
    for name in nodes:
        volume = named("PersistentVolume", f"disk-{name}")
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


async def _pods(api: Api, app: str) -> list[Object]:
    return [each for each in await api.listed("Pod") if each["metadata"].get("labels", {}).get("app") == app]


async def _places(api: Api, app: str) -> dict[str, str]:
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in await _pods(api, app)}


def _is_running(pod: Object) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _is_available(pod: Object) -> bool:
    return _is_running(pod) and "deletionTimestamp" not in pod["metadata"]


def _reason(pod: Object) -> str:
    conditions = pod["status"].get("conditions") or ()
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


async def _runs(api: Api, app: str, count: int) -> bool:
    pods = await _pods(api, app)
    return len(pods) == count and all(map(_is_available, pods))


async def _until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    clock = asyncio.get_running_loop().time
    end = clock() + _SECONDS
    while not await holds():
        if clock() > end:
            raise ScenarioError(f"not within {_SECONDS:.0f} s: {what}")
        await asyncio.sleep(_POLL_SECONDS)

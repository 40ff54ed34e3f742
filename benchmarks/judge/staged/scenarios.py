"""Scenarios of what controllers and people do to a cluster; each checks its expected outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.random_cluster.objects import HOSTNAME, JUDGE, OURS, make_object
from benchmarks.judge.staged.devices import devices
from benchmarks.judge.staged.moving import rescheduling
from benchmarks.judge.staged.queued_jobs import queued_jobs
from benchmarks.judge.staged.scenario_parts import (
    NAMESPACE,
    ScenarioError,
    deployment,
    disks,
    is_available,
    is_running,
    make_sized_pod,
    places_of,
    pods_of,
    reason,
    runs,
    stateful_set,
    wait_until,
)
from poseidon.kube.client.errors import ApiError

LEVELS = {"low": 10, "high": 1000}
_BETWEEN_SECONDS = 0.3


async def lose_lease(api: Api, kubelets: Kubelets) -> str:
    """Check that pods of a node without lease are replaced elsewhere, and that the node is used again once it
    is back.
    """
    await api.create([deployment("web", 8)])
    await wait_until("8 pods run", lambda: runs(api, "web", 8))
    lost = Counter(each["spec"]["nodeName"] for each in await pods_of(api, "web")).most_common(1)[0][0]
    kubelets.silent.add(lost)

    async def has_moved() -> bool:
        alive = [each for each in await pods_of(api, "web") if "deletionTimestamp" not in each["metadata"]]
        return len(alive) == 8 and all(
            is_running(each) and each["spec"]["nodeName"] != lost for each in alive
        )

    await wait_until(f"8 pods run elsewhere than on {lost}", has_moved)
    kubelets.silent.discard(lost)
    await wait_until("8 pods run and none is left over", lambda: runs(api, "web", 8))
    await api.patch(deployment("web", 0), {"spec": {"replicas": 40}})

    async def is_used_again() -> bool:
        return any(each["spec"].get("nodeName") == lost for each in await pods_of(api, "web"))

    await wait_until(f"{lost} is used again", is_used_again)
    await wait_until("40 pods run", lambda: runs(api, "web", 40))
    return f"the pods of {lost} ran elsewhere, and it took pods again once it was back"


async def local_volumes(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """Check a StatefulSet on local volumes: one pod per disk, and a deleted pod comes back to its own."""
    await api.create(disks(("n0", "n1", "n2")))
    await api.create([stateful_set("db", 3)])
    await wait_until("3 pods run", lambda: runs(api, "db", 3))
    before = await places_of(api, "db")
    if sorted(before.values()) != ["n0", "n1", "n2"]:
        raise ScenarioError(f"pods are on {before}, not one on each node with a disk")
    victim = next(each for each in await pods_of(api, "db") if each["metadata"]["name"] == "db-1")
    await api.delete([victim])

    async def another() -> bool:
        found = {each["metadata"]["name"]: each for each in await pods_of(api, "db")}
        fresh = found.get("db-1")
        return (
            fresh is not None and is_running(fresh) and fresh["metadata"]["uid"] != victim["metadata"]["uid"]
        )

    await wait_until("db-1 runs again", another)
    after = await places_of(api, "db")
    if after != before:
        raise ScenarioError(f"pods were on {before} and are on {after}")
    await api.patch(stateful_set("db", 3), {"spec": {"replicas": 4}})

    async def waits() -> bool:
        fourth = [each for each in await pods_of(api, "db") if each["metadata"]["name"] == "db-3"]
        return bool(fourth) and "didn't find available persistent volumes" in reason(fourth[0])

    await wait_until("db-3 waits for a disk and says so", waits)
    await api.create(disks(("n3",)))
    await wait_until("4 pods run", lambda: runs(api, "db", 4))
    if (await places_of(api, "db"))["db-3"] != "n3":
        raise ScenarioError("db-3 is not where the new disk is")
    return f"one pod per disk, back to it after a deletion: {after}; a fourth waited for a disk"


async def drain(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """Check that a drained node ends empty, and that there are never fewer pods than its budget says."""
    budget = make_object("PodDisruptionBudget", "shop", "policy/v1")
    budget["metadata"]["namespace"] = NAMESPACE
    budget["spec"] = {"minAvailable": 5, "selector": {"matchLabels": {"app": "shop"}}}
    await api.create([deployment("shop", 6), budget])
    await wait_until("6 pods run", lambda: runs(api, "shop", 6))
    drained = (await pods_of(api, "shop"))[0]["spec"]["nodeName"]
    await api.patch(make_object("Node", drained), {"spec": {"unschedulable": True}})
    least = 6

    async def empty() -> bool:
        nonlocal least
        pods = await pods_of(api, "shop")
        least = min(least, sum(map(is_available, pods)))
        left = [each for each in pods if each["spec"].get("nodeName") == drained]
        for each in left:
            with suppress(ApiError):  # the budget allows no eviction now, or the pod is being deleted already
                await api.evict(each)
        return not left and sum(map(is_available, pods)) == 6

    await wait_until(f"{drained} is empty and 6 pods run", empty)
    if least < 5:
        raise ScenarioError(f"only {least} pods were available, the budget asks for 5")
    return f"{drained} was emptied with at least {least} of 6 pods available"


async def rolling_update(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """Check that updating a Deployment with one pod per node replaces all pods, and keeps enough available."""
    web = deployment("front", 6, strategy={"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "front"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    web["spec"]["template"]["spec"]["affinity"] = {"podAntiAffinity": required}
    await api.create([web])
    await wait_until("6 pods run", lambda: runs(api, "front", 6))
    former = {each["metadata"]["uid"] for each in await pods_of(api, "front")}
    label = {"spec": {"template": {"metadata": {"labels": {"app": "front", "version": "2"}}}}}
    await api.patch(web, label)
    least = 6

    async def is_updated() -> bool:
        nonlocal least
        pods = await pods_of(api, "front")
        least = min(least, sum(map(is_available, pods)))
        fresh = [each for each in pods if each["metadata"]["uid"] not in former]
        return len(pods) == len(fresh) == 6 and all(map(is_running, fresh))

    await wait_until("6 new pods run and no old one is left", is_updated)
    places = Counter((await places_of(api, "front")).values())
    if max(places.values()) > 1:
        raise ScenarioError(f"two pods that exclude each other share a node: {dict(places)}")
    if least < 5:
        raise ScenarioError(f"only {least} pods were available, the strategy asks for 5")
    return f"all 6 pods were replaced, one per node, with at least {least} available"


async def preemptors(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """Check that important pods on a full node each get their room, one after another, and no lesser pod
    does.
    """
    levels = [
        make_object("PriorityClass", name, "scheduling.k8s.io/v1", value=value)
        for name, value in LEVELS.items()
    ]
    await api.create(levels)
    told = []
    for many in (2, 6):
        ours = await _preempt(api, OURS, "n0", many)
        theirs = await _preempt(api, JUDGE, "n1", many)
        told.append(f"{many} preemptors bound after {ours:.1f} s (kube-scheduler: {theirs:.1f} s)")
    return ", ".join(told)


async def _preempt(api: Api, scheduler: str, node: str, many: int) -> float:
    """Return the seconds from the last preemptor's creation until all are bound; victims end after 1 and 2 s in
    turn.
    """
    app = f"{scheduler}-{many}"
    there = [
        make_sized_pod(f"{app}-low-{index}", "low", scheduler, node, many, ends=1 + index % 2)
        for index in range(many)
    ]
    await api.create(there)
    await wait_until(f"{many} pods fill {node}", lambda: runs(api, app, many))
    lesser = make_sized_pod(f"{app}-lesser", "low", scheduler, node, many)
    await api.create([lesser])
    for index in range(many):
        await api.create([make_sized_pod(f"{app}-high-{index}", "high", scheduler, node, many)])
        await asyncio.sleep(_BETWEEN_SECONDS)
    clock = asyncio.get_running_loop().time
    begun, bound_lesser = clock(), False

    async def all_bound() -> bool:
        nonlocal bound_lesser
        places = await places_of(api, app)
        bound_lesser |= bool(places.get(lesser["metadata"]["name"]))
        return all(places.get(f"{app}-high-{index}") for index in range(many))

    await wait_until(f"{many} preemptors of {scheduler} are bound", all_bound)
    seconds = clock() - begun
    left = await places_of(api, app)
    if scheduler == OURS and (bound_lesser or lesser["metadata"]["name"] not in left):
        raise ScenarioError("a lesser pod took room that others left for more important ones")
    await api.delete(await pods_of(api, app))
    return seconds


SCENARIOS: dict[str, Callable[[Api, Kubelets], Coroutine[Any, Any, str]]] = {
    "lost-lease": lose_lease,
    "local-volumes": local_volumes,
    "drain": drain,
    "rolling-update": rolling_update,
    "preemptors": preemptors,
    "rescheduling": rescheduling,
    "devices": devices,
    "queued-jobs": queued_jobs,
}

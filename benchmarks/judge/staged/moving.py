"""A scenario in which running pods move and costs fall, with a real API server, controllers and a budget."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.random_cluster.objects import make_object
from benchmarks.judge.staged.scenario_parts import (
    NAMESPACE,
    ScenarioError,
    deployment,
    is_available,
    places_of,
    pods_of,
    runs,
    wait_until,
)

_PODS, _LEAST = 12, 11


async def rescheduling(api: Api, kubelets: Kubelets) -> str:
    """Check that pods crowded on one node move once other nodes take them: within a budget, until all is
    settled.
    """
    first, *others = kubelets.names
    for name in others:
        await api.patch(make_object("Node", name), {"spec": {"unschedulable": True}})
    budget = make_object("PodDisruptionBudget", "web", "policy/v1")
    budget["metadata"]["namespace"] = NAMESPACE
    budget["spec"] = {"minAvailable": _LEAST, "selector": {"matchLabels": {"app": "web"}}}
    await api.create([deployment("web", _PODS), budget])
    await wait_until(f"{_PODS} pods run", lambda: runs(api, "web", _PODS))
    for name in others:
        await api.patch(make_object("Node", name), {"spec": {"unschedulable": False}})
    allowing = {"metadata": {"labels": {"firmament.io/reschedule": "allow"}}}
    await api.patch(make_object("Namespace", NAMESPACE), allowing)
    moving = asyncio.create_task(_reschedule(api))
    least = _PODS
    while not moving.done():
        least = min(least, sum(map(is_available, await pods_of(api, "web"))))
        await asyncio.sleep(0.1)
    results = moving.result()
    await wait_until(f"{_PODS} pods run", lambda: runs(api, "web", _PODS))
    places = Counter((await places_of(api, "web")).values())
    if set(results) != {"moved"} or max(places.values()) > places.total() // len(kubelets.names) + 1:
        raise ScenarioError(f"moves ended as {dict(results)}, and pods are on {dict(places)}")
    if least < _LEAST:
        raise ScenarioError(f"only {least} pods were available, the budget asks for {_LEAST}")
    again = await _reschedule(api)
    if again:
        raise ScenarioError(f"settled pods moved again: {dict(again)}")
    freed = await _reschedule(api, "--objective", "free-nodes", "--node", first)
    await wait_until(f"{_PODS} pods run", lambda: runs(api, "web", _PODS))
    node = await api.get(make_object("Node", first))
    if first in (await places_of(api, "web")).values() or not node["spec"].get("unschedulable"):
        raise ScenarioError(f"{first} was not freed: {dict(freed)}")
    return (
        f"{results['moved']} of {_PODS} pods left {first}, at least {least} available, and none moved afterwards; "
        f"{freed.total()} more, and {first} was free"
    )


async def _reschedule(api: Api, *more: str) -> Counter[str]:
    """Run the command; return the number of moves by outcome."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "poseidon", "reschedule", "--kubeconfig", str(api.kubeconfig)),
        *("--move-cost", "1", "-o", "json", *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, errors = await process.communicate()
    if process.returncode:
        raise ScenarioError(f"poseidon reschedule: {errors.decode().strip()}")
    return Counter(each["result"] for each in json.loads(told)["outcomes"])

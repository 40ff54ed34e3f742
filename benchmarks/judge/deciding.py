"""Obtains our decisions about the waiting pods of a cluster: by ``poseidon plan``, or by both processes."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.judge.api import Api
from benchmarks.judge.random_cluster.objects import OURS, Object, key_of
from poseidon.embedding import load_configuration
from poseidon.manifests.loader import load_manifests
from poseidon.offline.plan import make_plan
from poseidon.testbed.harness.stack import Stack

_POLL_SECONDS, _QUIET_SECONDS = 0.25, 4.0
_SECONDS = 120.0
_PLACED = re.compile(r'msg="?placed"? pod=(\S+)')


@dataclass(frozen=True, slots=True)
class Decision:
    """Our decision. ``nodes`` of the pods that we place, by ``namespace/name``, in the order of their bindings if
    known; ``messages`` of the other pods.
    """

    nodes: dict[str, str]
    messages: dict[str, str]


async def plan(api: Api) -> Decision:
    """Return the decisions of a plan for the objects of the API server."""
    with TemporaryDirectory(prefix="poseidon-judge-") as folder:
        path = Path(folder) / "cluster.json"
        document = {"apiVersion": "v1", "kind": "List", "items": await api.everything()}
        path.write_text(json.dumps(document), encoding="utf-8")
        manifests = load_manifests([str(path)])
    plan = make_plan(manifests, load_configuration(None), 0.0, frozenset({OURS}))
    if plan.preemptions:
        raise ValueError("the plan evicts pods; the judge compares clusters in which nobody may")
    nodes = {each.pod: each.node for each in plan.bindings}
    messages = {each.pod: each.reason for each in plan.pending}
    return Decision({pod: nodes[pod] for pod in plan.admitted}, messages)


async def by_processes(api: Api, stack: Stack, waiting: list[Object], before: int) -> Decision:
    """Return the decisions of bridge and solver, once nothing has changed for a while.

    ``before``: size of the bridge's log in bytes before the first of the pods was created.
    """
    found = await stack.guard(_wait_until_settled(api, {key_of(each) for each in waiting}))
    with stack.bridge.log.open("rb") as log:
        log.seek(before)
        placed = _PLACED.findall(log.read().decode("utf-8", "replace"))
    # Rounds report placements in the order of admission; bindings wait for claims, and run in parallel.
    order = [pod for pod in dict.fromkeys(reversed(placed)) if pod in found.nodes]
    order = [*reversed(order), *(pod for pod in found.nodes if pod not in order)]
    return Decision({pod: found.nodes[pod] for pod in order}, found.messages)


async def _wait_until_settled(api: Api, wanted: set[str]) -> Decision:
    clock = asyncio.get_running_loop().time
    last, since = Decision({}, {}), clock()
    async with asyncio.timeout(_SECONDS):
        while True:
            pods = {key_of(each): each for each in await api.list_objects("Pod") if key_of(each) in wanted}
            now = _read_decision(pods)
            if now != last or len(now.nodes) + len(now.messages) < len(wanted):
                last, since = now, clock()
            elif clock() - since >= _QUIET_SECONDS:
                return now
            await asyncio.sleep(_POLL_SECONDS)


def _read_decision(pods: dict[str, Object]) -> Decision:
    nodes = {key: each["spec"]["nodeName"] for key, each in pods.items() if each["spec"].get("nodeName")}
    messages = {}
    for key, each in pods.items():
        condition = get_scheduled_condition(each)
        if key not in nodes and condition.get("status") == "False":
            messages[key] = condition.get("message", "")
    return Decision(nodes, messages)


def get_scheduled_condition(pod: Object) -> Object:
    """Return the pod's condition ``PodScheduled``, empty if it has none."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})

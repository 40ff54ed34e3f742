"""Asks a real kube-scheduler whether it would make our placements, and whether pods left pending fit somewhere.

A placement is submitted by nomination: the pod is created behind a scheduling gate, ``status.nominatedNodeName``
names our node, and the gate is opened. kube-scheduler tries that node first, and binds there if all its
filters accept it. (Pinning the pod by ``matchFields`` would change the very rules that are to be judged: spread counts
the nodes that the pod's node affinity admits.)
"""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import dataclass, field

from benchmarks.judge.api import Api
from benchmarks.judge.deciding import Decision, get_scheduled_condition
from benchmarks.judge.random_cluster.objects import JUDGE, Object, RandomCluster, expression, key_of
from benchmarks.judge.verdicts import Finding, PendingMessages, SeedResult

ORDERS = 4
"""Attempts to replay all placements before the rest count as refused, as a rule may hold in one order only ..."""
OWN = 2
"""... the first attempts in our own order, then in others."""

_GATE = "benchmarks/judge"
_POLL_SECONDS, _ONE_POD_SECONDS, _PENDING_SECONDS, _QUIET_SECONDS = 0.015, 20.0, 60.0, 0.7
_SEEN_SECONDS = 1.0


@dataclass
class Judge:
    """Judges the decisions about one cluster, whose waiting pods have been deleted."""

    api: Api
    cluster: RandomCluster
    decision: Decision
    result: SeedResult
    _pods: dict[str, Object] = field(init=False)

    def __post_init__(self) -> None:
        self._pods = {key_of(each): each for each in self.cluster.waiting}

    async def judge(self) -> None:
        """Judge all decisions, and fill in the result."""
        self.result.bound, self.result.pending = len(self.decision.nodes), len(self.decision.messages)
        await self._judge_placements()
        await self._judge_pending()

    # --- placements ----------------------------------------------------------------------------------------------

    async def _judge_placements(self) -> None:
        order = list(self.decision.nodes)
        draw = random.Random(self.cluster.seed)  # noqa: S311 - reproducible, not secret
        for attempt in range(ORDERS):
            self.result.orders = attempt + 1
            left = await self._replay(order)
            if not left:
                return
            if attempt + 1 < ORDERS:
                await self.api.delete([self._pods[key] for key in order])
                await self.reset_claims()
                if attempt + 1 >= OWN:
                    draw.shuffle(order)
        for key in left:
            node = self.decision.nodes[key]
            theirs = await self._find_refusal(key, node)
            self.result.findings.append(Finding(self.cluster.seed, "violation", key, node, "", theirs))

    async def _replay(self, order: list[str]) -> list[str]:
        """Submit placements to the scheduler one by one, refused ones again after each success; return those refused
        in the end.
        """
        await asyncio.sleep(_SEEN_SECONDS)  # until kube-scheduler has seen all deletions
        refused: list[str] = []
        for key in order:
            come = [key]
            while come:
                first, *come = come
                if await self._accepts(first, self.decision.nodes[first]):
                    come, refused = [*refused, *come], []
                else:
                    refused.append(first)
        return refused

    async def _accepts(self, key: str, node: str) -> bool:
        pod = _prepare_pod(self._pods[key])
        pod["spec"]["schedulingGates"] = [{"name": _GATE}]
        await self.api.create([pod])
        await self.api.patch(pod, {"status": {"nominatedNodeName": node}}, "/status")
        await self.api.patch(pod, {"spec": {"schedulingGates": None}})
        found = await self._outcome(pod)
        if found["spec"].get("nodeName") == node:
            return True
        await self.api.delete([pod])
        await self._reset_claims_of(pod)
        return False

    async def _find_refusal(self, key: str, node: str) -> str:
        """Return the scheduler's message for the pod if it may use only that node; the pod is deleted again."""
        pod = _prepare_pod(self._pods[key])
        affinity = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
        required = affinity.setdefault(
            "requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": [{}]}
        )
        for term in required["nodeSelectorTerms"]:
            term.setdefault("matchFields", []).append(expression("metadata.name", "In", node))
        await self.api.create([pod])
        found = await self._outcome(pod)
        await self.api.delete([pod])
        await self._reset_claims_of(pod)
        if found["spec"].get("nodeName"):
            return "refused unless it is confined to the node: topology spread"
        return str(get_scheduled_condition(found).get("message", "no answer"))

    async def _outcome(self, pod: Object) -> Object:
        """Wait until a pod has a node or has been refused; return it as it is then."""
        clock = asyncio.get_running_loop().time
        end = clock() + _ONE_POD_SECONDS
        while True:
            found = await self.api.get(pod)
            if found["spec"].get("nodeName") or _is_refused(found) or clock() > end:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    # --- pending -------------------------------------------------------------------------------------------------

    async def _judge_pending(self) -> None:
        left = [key for key in self.decision.messages if not self._pods[key]["spec"].get("schedulingGates")]
        await self.api.create([_prepare_pod(self._pods[key]) for key in left])
        found = await self._wait_until_settled(set(left))
        for key in left:
            node, theirs = found[key]
            ours = self.decision.messages[key]
            if node:
                self.result.findings.append(Finding(self.cluster.seed, "miss", key, node, ours, ""))
            else:
                self.result.told.append(PendingMessages(key, ours, theirs))

    async def _wait_until_settled(self, wanted: set[str]) -> dict[str, tuple[str, str]]:
        clock = asyncio.get_running_loop().time
        last: dict[str, tuple[str, str]] = {}
        since, end = clock(), clock() + _PENDING_SECONDS
        while True:
            pods = {key_of(each): each for each in await self.api.list_objects("Pod")}
            now = {
                key: (
                    pods[key]["spec"].get("nodeName", ""),
                    str(get_scheduled_condition(pods[key]).get("message", "")),
                )
                for key in wanted
                if pods[key]["spec"].get("nodeName") or _is_refused(pods[key])
            }
            if now != last:
                last, since = now, clock()
            elif (len(now) == len(wanted) and clock() - since > _QUIET_SECONDS) or clock() > end:
                return {key: now.get(key, ("", "no answer")) for key in wanted}
            await asyncio.sleep(10 * _POLL_SECONDS)

    # --- claims --------------------------------------------------------------------------------------------------

    async def reset_claims(self) -> None:
        """Restore all claims and volumes to their original state."""
        kinds = ("PersistentVolumeClaim", "PersistentVolume")
        for kind in kinds:
            await self.api.delete(await self.api.list_objects(kind))
        await self.api.create([each for each in self.cluster.scaffold if each["kind"] in kinds])

    async def _reset_claims_of(self, pod: Object) -> None:
        """Undo a rejected placement's changes to claims that no other pod uses."""
        used = {
            each["persistentVolumeClaim"]["claimName"]
            for each in pod["spec"].get("volumes") or ()
            if "persistentVolumeClaim" in each
        }
        namespace = pod["metadata"]["namespace"]
        claims = [
            each
            for each in self.cluster.scaffold
            if each["kind"] == "PersistentVolumeClaim"
            and (each["metadata"]["namespace"], each["metadata"]["name"])
            in {(namespace, name) for name in used}
            and "volumeName" not in each["spec"]
        ]
        if not claims:
            return
        names = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in claims}
        given = [
            each
            for each in await self.api.list_objects("PersistentVolume")
            if ((ref := each["spec"].get("claimRef") or {}).get("namespace"), ref.get("name")) in names
        ]
        await self.api.delete([*claims, *given])
        made = {each["metadata"]["name"] for each in given}
        volumes = [each for each in self.cluster.scaffold if each["kind"] == "PersistentVolume"]
        await self.api.create([*claims, *(each for each in volumes if each["metadata"]["name"] in made)])


def _prepare_pod(pod: Object) -> Object:
    twin = copy.deepcopy(pod)
    twin["spec"]["schedulerName"] = JUDGE
    return twin


def _is_refused(pod: Object) -> bool:
    condition = get_scheduled_condition(pod)
    return condition.get("status") == "False" and condition.get("reason") != "SchedulingGated"

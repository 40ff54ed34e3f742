"""Rules between pods, from the API server through both processes and back."""

from __future__ import annotations

from collections import Counter
from typing import Any

from poseidon.testbed.api_server.operations import MERGE_PATCH
from poseidon.testbed.objects.resources import EVENTS, NAMESPACES, NODES
from poseidon.testbed.seeding import NodeShape, create_pods
from tests.programs.end_to_end.scene import SECONDS, Scene, names, scene
from tests.support.cluster import pod
from tests.support.core import without_preemption
from tests.support.waiting import until

SMALL = [NodeShape("small", cpu="4")]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def labelled(name: str, *, namespace: str = "default", labels: Any = None, **spec: Any) -> dict[str, Any]:
    made = pod(name, namespace=namespace, **spec)
    made["metadata"]["labels"] = labels or {}
    return made


def rule(kind: str, topology: str, app: str, **term: Any) -> Any:
    selector = {"matchLabels": {"app": app}}
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": topology, "labelSelector": selector, **term}]}}}


async def started(s: Scene, nodes: int) -> None:
    await s.nodes(nodes, SMALL)
    await s.start()
    await s.until_solver(lambda counts: counts.machines == nodes)


async def test_one_per_node_and_evenly_over_zones(tmp_path):
    async with scene(tmp_path) as s:
        await started(s, 30)
        apart = rule("podAntiAffinity", HOST, "apart")
        even: Any = {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "even"}},
                }
            ]
        }
        pods = [labelled(name, labels={"app": "apart", "pod": name}, **apart) for name in names("apart", 31)]
        pods += [labelled(name, labels={"app": "even"}, **even) for name in names("even", 60)]
        await create_pods(s.operations, pods)
        await s.until_bound(90)
        await until(lambda: len(s.events("FailedScheduling")) == 1, within=SECONDS)
        placed = s.placed()
        assert max(Counter(node for name, node in placed.items() if name.startswith("apart")).values()) == 1
        zone = {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in s.listed(NODES)}
        spread = Counter(zone[node] for name, node in placed.items() if name.startswith("even"))
        assert sorted(spread.values()) == [20, 20, 20]
        s.check_sound()


async def test_running_pods_of_others_count_from_when_someone_looks_at_them(tmp_path):
    async with scene(tmp_path) as s:
        await started(s, 3)
        quiet = rule("podAntiAffinity", HOST, "noisy")
        others = [
            labelled("cache", labels={"app": "cache"}, schedulerName="other", nodeName="node-00001"),
            labelled("quiet", schedulerName="other", nodeName="node-00002", **quiet),
        ]
        await create_pods(s.operations, others)
        await s.until_solver_has_bound(2)
        near = labelled("near", **rule("podAffinity", HOST, "cache"))
        noisy = [labelled(name, labels={"app": "noisy"}, cpu="1500m") for name in names("noisy", 4)]
        await create_pods(s.operations, [near, *noisy])
        await s.until_bound(5)
        placed = s.placed()
        assert placed["near"] == "node-00001"
        assert "node-00002" not in {placed[name] for name in names("noisy", 4)}
        s.check_sound()


async def test_a_label_of_a_namespace_lets_a_pod_go(tmp_path):
    async with scene(tmp_path) as s:
        s.operations.create(NAMESPACES, "", {"metadata": {"name": "storage"}})
        await started(s, 3)
        cache = labelled(
            "cache",
            namespace="storage",
            labels={"app": "cache"},
            schedulerName="other",
            nodeName="node-00002",
        )
        term = {"namespaceSelector": {"matchLabels": {"team": "data"}}}
        await create_pods(
            s.operations, [cache, labelled("near", **rule("podAffinity", HOST, "cache", **term))]
        )
        await until(lambda: s.events("FailedScheduling")["near"] == 1, within=SECONDS)
        (event,) = [each for each in s.listed(EVENTS) if each["reason"] == "FailedScheduling"]
        told = without_preemption(event["message"])
        assert told == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
        patch = {"metadata": {"labels": {"team": "data"}}}
        s.operations.patch(NAMESPACES, "", "storage", MERGE_PATCH, patch)
        await s.until_bound(1)
        assert s.placed()["near"] == "node-00002"

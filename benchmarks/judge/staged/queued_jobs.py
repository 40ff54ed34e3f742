"""The scenario with queues: a real controller creates and deletes pods of Jobs that are resumed and suspended."""

from __future__ import annotations

from benchmarks.judge.api import Api
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.random_cluster.objects import Object, make_object
from benchmarks.judge.staged.scenario_parts import (
    NAMESPACE,
    ScenarioError,
    pods_of,
    runs,
    template,
    wait_until,
)

VERSION = "kueue.x-k8s.io/v1beta2"
QUOTA = 10
CONFIGURATION = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
queues: {source: kueue, admission: poseidon}
"""
"""Configuration of both processes in this scenario."""


async def queued_jobs(api: Api, kubelets: Kubelets) -> str:  # noqa: ARG001 - as the others
    """Check that suspended Jobs are resumed within their queue's quota, and are suspended as a whole."""
    await api.create(
        [*make_definitions(), make_object("PriorityClass", "urgent", "scheduling.k8s.io/v1", value=1000)]
    )
    await wait_until("definitions are served", lambda: _are_served(api))
    await api.create(make_queues())
    await api.create([make_job(f"job-{index}", 4) for index in range(3)])

    async def two_run() -> bool:
        resumed = [name for name in await _list_resumed(api) if await runs(api, name, 4)]
        return len(resumed) == 2

    await wait_until("two of three Jobs run", two_run)
    await _check(api, 2)
    await api.create([make_job("important", 8, priorityClassName="urgent")])
    await wait_until("the important Job runs", lambda: runs(api, "important", 8))
    await wait_until("the others are suspended", lambda: _are_resumed(api, {"important"}))
    await _check(api, 1)
    await api.delete([*await pods_of(api, "important"), make_job("important", 8)])
    await wait_until("two Jobs run again", two_run)
    await _check(api, 2)
    writes = {
        each["metadata"]["name"]: each["metadata"]["generation"] - 1 for each in await api.list_objects("Job")
    }
    if sum(writes.values()) != 6:  # two Jobs were resumed, suspended and resumed again
        raise ScenarioError(f"Jobs were written to other than six times: {writes}")
    return "two of three Jobs ran within their quota, made way for an important one as a whole, and came back"


async def _check(api: Api, count: int) -> None:
    """Raise ``ScenarioError`` unless ``count`` Jobs are resumed and their pods stay within the quota."""
    resumed = await _list_resumed(api)
    alive = [each for each in await api.list_objects("Pod") if "deletionTimestamp" not in each["metadata"]]
    if len(resumed) != count:
        raise ScenarioError(f"{resumed} are resumed, not {count} Jobs")
    if len(alive) > QUOTA:
        raise ScenarioError(f"{len(alive)} pods of one core each, of a quota of {QUOTA}")


async def _list_resumed(api: Api) -> list[str]:
    return [each["metadata"]["name"] for each in await api.list_objects("Job") if not each["spec"]["suspend"]]


async def _are_resumed(api: Api, names: set[str]) -> bool:
    return {*await _list_resumed(api)} == names and {
        each["metadata"]["labels"]["app"] for each in await api.list_objects("Pod")
    } == names


async def _are_served(api: Api) -> bool:
    definitions = await api.list_objects("CustomResourceDefinition")
    return all(
        any(each["type"] == "Established" and each["status"] == "True" for each in _conditions_of(found))
        for found in definitions
    )


def _conditions_of(found: Object) -> list[Object]:
    return found.get("status", {}).get("conditions") or []


def make_definitions() -> list[Object]:
    """Return definitions of Kueue's kinds of objects, without schemas."""
    return [
        make_object(
            "CustomResourceDefinition",
            f"{plural}.kueue.x-k8s.io",
            "apiextensions.k8s.io/v1",
            spec={
                "group": "kueue.x-k8s.io",
                "scope": scope,
                "names": {"plural": plural, "kind": kind},
                "versions": [
                    {
                        "name": VERSION.partition("/")[2],
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                ],
            },
        )
        for plural, kind, scope in (
            ("resourceflavors", "ResourceFlavor", "Cluster"),
            ("clusterqueues", "ClusterQueue", "Cluster"),
            ("localqueues", "LocalQueue", "Namespaced"),
        )
    ]


def make_queues() -> list[Object]:
    """Return a queue with a quota of cores, and the objects that it needs."""
    amounts = [{"name": "cpu", "nominalQuota": QUOTA}, {"name": "memory", "nominalQuota": "100Gi"}]
    queue = make_object("ClusterQueue", "team", VERSION)
    queue["spec"] = {
        "namespaceSelector": {},
        "resourceGroups": [
            {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": amounts}]}
        ],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    local = make_object("LocalQueue", "users", VERSION, spec={"clusterQueue": "team"})
    local["metadata"]["namespace"] = NAMESPACE
    return [make_object("ResourceFlavor", "default", VERSION, spec={}), queue, local]


def make_job(name: str, pods: int, **spec: object) -> Object:
    """Return a suspended Job with pods of one core each."""
    made = make_object("Job", name, "batch/v1")
    made["metadata"] |= {"namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/queue-name": "users"}}
    of_pods = template(name, restartPolicy="Never", **spec)
    of_pods["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "64Mi"}}
    made["spec"] = {"suspend": True, "parallelism": pods, "completions": pods, "template": of_pods}
    return made

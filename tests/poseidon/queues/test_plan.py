"""`poseidon plan` and `poseidon get queues` of files with queues: who is admitted, and what is used of quotas."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.custom_resources import definition
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import (
    LABEL,
    cluster_queue,
    elastic_quota,
    flavor,
    kai_queue,
    local_queue,
    quotas,
    volcano_queue,
    workload_priority,
)
from tests.poseidon.queues.test_gangs_by_owner import CONFIG, job
from tests.programs.end_to_end.scene import scene


def run(tmp_path, words, objects, **queues):
    path, settings = tmp_path / "cluster.yaml", tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    settings.write_text(yaml.safe_dump({**CONFIG, "queues": {"source": "kueue", **queues}}))
    result = CliRunner().invoke(main, [*words, "-f", str(path), "--config", str(settings), "-o", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def bound(tmp_path, *objects, **queues):
    made, _ = run(tmp_path, ["plan"], objects, **queues)
    return {each["pod"].removeprefix("shop/") for each in made["bindings"]}


def queues_of(tmp_path, *objects, **queues):
    made, _ = run(tmp_path, ["get", "queues"], objects, **queues)
    return {each["queue"]: each for each in made["queues"]}


def test_queues_say_when_their_pods_are_expected_to_start(tmp_path):
    objects = [node("n-1", cpu=8), flavor(), *team(cpu=2)]
    for name in ("a", "b", "c"):
        made = queued(name, cpu=2)
        made["metadata"]["annotations"] = {"firmament.io/run-seconds": "600"}
        objects.append(made)
    running = objects[-3]
    running["spec"]["nodeName"] = "n-1"
    running["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    made, _ = run(tmp_path, ["get", "queues", "--when"], objects)
    (queue,) = (each for each in made["queues"] if each["queue"] == "ClusterQueue/team")
    assert queue["waiting"] == 2
    starts = queue["expectedStarts"]
    assert starts["first"] < 60.0, "what runs should have ended long ago"
    assert 540.0 <= starts["last"] <= 720.0


def used(queue, resource="cpu"):
    (use,) = (each for each in queue["uses"] if each["resource"] == resource)
    return use["used"], use["borrowed"], use["lent"]


def queued(name, cpu=1, queue="users", *, key=LABEL, namespace="shop", **spec):
    made = pod(name, cpu=cpu, **spec)
    made["metadata"] |= {"namespace": namespace, "labels": {key: queue} if queue else {}}
    return made


def team(name="team", cpu=4, namespace="shop", **more):
    return [
        cluster_queue(name, quotas(cpu=cpu, memory="64Gi"), **more),
        local_queue("users", name, namespace),
    ]


BASE = (flavor(), node("n1", cpu=16))


def test_pods_are_admitted_up_to_the_quota(tmp_path):
    pods = [queued(f"p{index}") for index in range(6)]
    assert len(bound(tmp_path, *BASE, *team(), *pods)) == 4


def test_jobs_are_admitted_whole(tmp_path):
    assert len(bound(tmp_path, *BASE, *team(), job(4))) == 4
    assert bound(tmp_path, *BASE, *team(), job(5)) == set()


def test_others_of_the_cohort_lend(tmp_path):
    objects = (*BASE, *team(cohort="c"), *team("other", namespace="b", cohort="c"))
    pods = [queued(f"p{index}") for index in range(10)]
    assert len(bound(tmp_path, *objects, *pods)) == 8
    found = queues_of(tmp_path, *objects, *pods)
    assert list(found) == ["Cohort/c", "ClusterQueue/other", "ClusterQueue/team"]
    assert used(found["ClusterQueue/team"]) == (8000, 4000, 0)
    assert used(found["Cohort/c"]) == (8000, 0, 4000)
    assert (found["ClusterQueue/team"]["admitted"], found["ClusterQueue/team"]["waiting"]) == (8, 2)


def test_a_lending_limit_keeps_what_is_a_queues_own(tmp_path):
    other = cluster_queue("other", quotas(cpu=(4, None, 1), memory="64Gi"), cohort="c")
    pods = [queued(f"p{index}") for index in range(10)]
    assert len(bound(tmp_path, *BASE, *team(cohort="c"), other, *pods)) == 5


def test_flavors_are_sets_of_nodes(tmp_path):
    nodes = [node("spot", cpu=8), node("base", cpu=8)]
    for each in nodes:
        each["metadata"]["labels"]["tier"] = each["metadata"]["name"]
    group = {
        "coveredResources": ["cpu"],
        "flavors": [
            {"name": "base", "resources": [{"name": "cpu", "nominalQuota": 1}]},
            {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 2}]},
        ],
    }
    pods = [queued(f"p{index}") for index in range(5)]
    for each in pods:
        del each["spec"]["containers"][0]["resources"]["requests"]["memory"]
    objects = (
        flavor("base", tier="base"), flavor("spot", tier="spot"),
        cluster_queue("team", group), local_queue("users", "team"), *nodes,
    )  # fmt: skip
    made, _ = run(tmp_path, ["plan"], (*objects, *pods))
    assert sorted(each["node"] for each in made["bindings"]) == ["base", "spot", "spot"]


def test_what_runs_counts(tmp_path):
    running = queued("r", cpu=3, nodeName="n1", phase="Running")
    pods = [queued(f"p{index}") for index in range(3)]
    assert len(bound(tmp_path, *BASE, *team(), running, *pods)) == 1
    assert used(queues_of(tmp_path, *BASE, *team(), running)["ClusterQueue/team"]) == (3000, 0, 0)


def test_a_queue_that_makes_no_sense_is_named_and_stops_no_other(tmp_path):
    bad = [cluster_queue("bad", quotas(cpu="x")), local_queue("worse", "bad")]
    objects = (*BASE, *team(), *bad, queued("a"), queued("b", queue="worse"))
    made, said = run(tmp_path, ["plan"], objects)
    assert [each["pod"] for each in made["bindings"]] == ["shop/a"]
    assert "ClusterQueue bad: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota" in said
    assert "bad" in made["pending"][0]["reason"]


def test_a_tenant_cannot_take_the_quota_of_another(tmp_path):
    made, _ = run(tmp_path, ["plan"], (*BASE, *team(), queued("thief", namespace="c")))
    assert made["bindings"] == []
    assert "LocalQueue c/users does not exist" in made["pending"][0]["reason"]


def test_queues_that_nobody_asked_for_are_named(tmp_path):
    made, said = run(tmp_path, ["plan"], (*BASE, *team(), job(5)), source=[])
    assert len(made["bindings"]) == 5
    assert "queues are not read (1 ClusterQueue, 1 LocalQueue, 1 ResourceFlavor)" in said
    assert "queues" not in made


OTHERS = {
    "volcano": ([volcano_queue("q", capability={"cpu": 2})], "scheduling.volcano.sh/queue-name"),
    "kai": (
        [kai_queue("q", resources={"cpu": {"quota": 1000, "limit": 2000}})],
        "kai.scheduler/queue",
    ),
    "koordinator": (
        [elastic_quota("q", koordinator=True, min={"cpu": 1}, max={"cpu": 2})],
        "quota.scheduling.koordinator.sh/name",
    ),
    "scheduler-plugins": ([elastic_quota("q", min={"cpu": 2, "memory": "8Gi"})], "no-label"),
}


@pytest.mark.parametrize("source", OTHERS)
def test_queues_of_other_projects_limit_their_pods(tmp_path, source):
    queues, key = OTHERS[source]
    pods = [queued(f"p{index}", queue="q", key=key) for index in range(4)]
    free = [queued(f"f{index}", queue="", namespace="elsewhere") for index in range(3)]
    placed = bound(tmp_path, node("n1", cpu=16), *queues, *pods, *free, source=[source])
    assert len([each for each in placed if each.startswith("p")]) == 2
    assert len([each for each in placed if "elsewhere" in each]) == 3


def test_fair_sharing_divides_what_can_be_borrowed(tmp_path):
    lender = cluster_queue("lender", quotas(cpu=6, memory="64Gi"), cohort="c")
    first, second = (
        team(name, 0, name, cohort="c", fairSharing={"weight": weight})
        for name, weight in (("a", 1), ("b", 2))
    )
    pods = [queued(f"{space}{index}", namespace=space) for space in "ab" for index in range(6)]
    found = queues_of(tmp_path, *BASE, lender, *first, *second, *pods, fairSharing=True)
    assert used(found["ClusterQueue/a"])[0] == 2000
    assert used(found["ClusterQueue/b"])[0] == 4000


RANK = "kueue.x-k8s.io/priority-class"


def ranked(name, rank, pods=4):
    made = job(pods, name)
    made["metadata"]["labels"][RANK] = rank
    return made


def test_a_workload_has_the_priority_of_its_class(tmp_path):
    classes = workload_priority("low", -5), workload_priority("high", 7)
    jobs = ranked("a", "low"), job(4, "b"), ranked("c", "high")
    objects = (*BASE, *team(), *classes)
    assert {each[0] for each in bound(tmp_path, *objects, *jobs)} == {"c"}
    assert {each[0] for each in bound(tmp_path, *objects, *jobs[:2])} == {"b"}
    free = queued("free", queue="")  # which is in no queue
    free["metadata"]["labels"][RANK] = "nothing-there"
    assert bound(tmp_path, *BASE, free) == {"free"}


def test_a_more_important_workload_evicts_by_its_class_alone(tmp_path):
    policy = {"withinClusterQueue": "LowerPriority"}
    running = queued("r", cpu=3, nodeName="n1", phase="Running", priority=3)
    objects = (*BASE, *team(preemption=policy), workload_priority("high", 4), running)
    waits = queued("w", cpu=2)
    assert bound(tmp_path, *objects, waits) == set()
    waits["metadata"]["labels"][RANK] = "high"
    made, _ = run(tmp_path, ["plan"], (*objects, waits))
    assert [each["pod"] for each in made["preemptions"]] == ["shop/r"]


def test_a_workload_whose_class_does_not_exist_waits_and_says_so(tmp_path):
    made, _ = run(tmp_path, ["plan"], (*BASE, *team(), ranked("a", "gone")))
    assert made["bindings"] == []
    assert "WorkloadPriorityClass gone does not exist" in made["pending"][0]["reason"]


async def test_queues_of_a_live_cluster_are_shown(tmp_path):
    settings = tmp_path / "config.yaml"
    settings.write_text(yaml.safe_dump({**CONFIG, "queues": {"source": "kueue", "admission": "poseidon"}}))
    kinds = {
        "clusterqueues": "ClusterQueue",
        "localqueues": "LocalQueue",
        "resourceflavors": "ResourceFlavor",
    }
    async with scene(tmp_path) as s:
        await s.nodes(1)
        for plural, kind in kinds.items():
            scope = "Namespaced" if kind == "LocalQueue" else "Cluster"
            create_object(s.operations, definition("kueue.x-k8s.io", "v1beta2", plural, kind, scope=scope))
        for each in (flavor(), *team(cpu=2, namespace="default")):
            create_object(s.operations, each)
        words = ["get", "queues", "--config", str(settings), "-o", "json"]
        reach = ["--kubeconfig", str(s.stack.kubeconfig)]
        shown = await asyncio.to_thread(CliRunner().invoke, main, [*words, *reach])
        assert shown.exit_code == 0, shown.output
        assert [each["queue"] for each in json.loads(shown.stdout)["queues"]] == ["ClusterQueue/team"]
        create_object(s.operations, queued("big", cpu=3, namespace="default"))
        asked = ["explain", "--workload", "default/big", "--config", str(settings), *reach]
        told = await asyncio.to_thread(CliRunner().invoke, main, asked)
        assert told.exit_code == 0, told.output
        assert "nominalQuota 3 instead of 2 for cpu of flavor default (ClusterQueue team)" in told.stdout
        held = job(3, "held")
        held["metadata"]["namespace"], held["spec"]["suspend"] = "default", True
        create_object(s.operations, held)
        shown = await asyncio.to_thread(CliRunner().invoke, main, [*words, *reach])
        (team_queue,) = json.loads(shown.stdout)["queues"]
        assert team_queue["waiting"] == 2, "a pod, and a suspended Job as a whole"
        asked = ["explain", "--workload", "default/Job/held", "--config", str(settings), *reach]
        told = await asyncio.to_thread(CliRunner().invoke, main, asked)
        assert "It asks for 3 of cpu of flavor default" in told.stdout, told.output
        both = CliRunner().invoke(main, [*words, *reach, "-f", str(settings)])
        assert (both.exit_code, "leave -f away" in both.stderr) == (2, True)

"""Owners in a queue: their pods go together or not at all, also while they are suspended."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner
from msgspec.structs import replace

from poseidon.cli import main
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import ScaledOwner, ScaleSpec
from poseidon.kube.api.resource import Change
from poseidon.pod_groups.group_names import JOB_SET_DOMAIN
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_known_queues import kueue, queued

CONFIG = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "policy": {"name": "cpu_mem"},
    "queues": {"source": "kueue"},
}
QUEUES = (
    flavor(),
    cluster_queue("team", quotas(cpu=100, memory="100Gi")),
    local_queue("users", "team"),
    node("n1", cpu=4),
)


def plan(tmp_path, *objects, config=CONFIG):
    path, settings = tmp_path / "cluster.yaml", tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    settings.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(main, ["plan", "-f", str(path), "--config", str(settings), "-o", "json"])
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    return {each["pod"].removeprefix("shop/") for each in made["bindings"]}, made


def template(cpu=1):
    requests = {"cpu": cpu, "memory": "64Mi"}
    return {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "resources": {"requests": requests}}]}
    }


def owner(kind, version, name="j", queue="users", annotations=None, **spec):
    labels = {LABEL: queue} if queue else {}
    metadata = {"name": name, "namespace": "shop", "labels": labels, "annotations": annotations or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def job(pods, name="j", annotations=None, **spec):
    made = {"parallelism": pods, "completions": pods, "template": template(), **spec}
    return owner("Job", "batch/v1", name, annotations=annotations, **made)


def job_set(pods, **more):
    spec = {"parallelism": 1, "completions": 1, "template": template()}
    replicated = [{"name": "w", "replicas": pods, "template": {"spec": spec}}]
    return owner("JobSet", "jobset.x-k8s.io/v1alpha2", replicatedJobs=replicated, **more)


def pytorch_job(pods, **policy):
    replicas = {"Master": {"replicas": 1, "template": template()}}
    replicas["Worker"] = {"replicas": pods - 1, "template": template()}
    return owner("PyTorchJob", "kubeflow.org/v1", pytorchReplicaSpecs=replicas, runPolicy=policy)


def ray_cluster(pods, **more):
    workers = [{"groupName": "w", "replicas": pods - 1, "template": template()}]
    head = {"template": template()}
    return owner("RayCluster", "ray.io/v1", headGroupSpec=head, workerGroupSpecs=workers, **more)


def stateful_set(pods):
    return owner("StatefulSet", "apps/v1", replicas=pods, template=template())


WHOLE = {
    "Job": job,
    "JobSet": job_set,
    "PyTorchJob": pytorch_job,
    "RayCluster": ray_cluster,
    "StatefulSet": stateful_set,
}


@pytest.mark.parametrize("kind", WHOLE)
def test_an_owner_in_a_queue_is_placed_whole_or_not_at_all(tmp_path, kind):
    bound, made = plan(tmp_path, *QUEUES, WHOLE[kind](4))
    assert len(bound) == 4
    assert [(each["group"], each["status"]) for each in made["groups"]] == [("shop/j", "Bound")]
    bound, made = plan(tmp_path, *QUEUES, WHOLE[kind](5))
    assert bound == set()
    assert len(made["pending"]) == 5


def test_without_a_queue_pods_are_placed_one_by_one(tmp_path):
    single = job(5)
    single["metadata"]["labels"] = {}
    assert len(plan(tmp_path, *QUEUES, single)[0]) == 4


def test_pods_of_a_deployment_are_admitted_one_by_one(tmp_path):
    many = owner("Deployment", "apps/v1", replicas=5, template=template())
    assert len(plan(tmp_path, *QUEUES, many)[0]) == 4


def test_each_group_of_a_leader_worker_set_is_admitted_by_itself(tmp_path):
    made = {"size": 3, "workerTemplate": template()}
    groups = owner("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", replicas=2, leaderWorkerTemplate=made)
    bound, _ = plan(tmp_path, *QUEUES, groups)
    assert len(bound) == 3, "one group of three fits beside nothing else on four cores"


def test_a_job_may_say_that_fewer_are_enough(tmp_path):
    key = "kueue.x-k8s.io/job-min-parallelism"
    assert len(plan(tmp_path, *QUEUES, job(6, annotations={key: "3"}))[0]) == 4
    bound, made = plan(tmp_path, *QUEUES, job(3, annotations={key: "few"}))
    assert bound == set()
    assert "job-min-parallelism: 'few' is no number of pods" in made["pending"][0]["reason"]


SUSPENDED = {
    "Job": lambda: job(2, suspend=True),
    "JobSet": lambda: job_set(2, suspend=True),
    "PyTorchJob": lambda: pytorch_job(2, suspend=True),
    "RayCluster": lambda: ray_cluster(2, suspend=True),
}


@pytest.mark.parametrize("kind", SUSPENDED)
def test_suspended_owners_wait_in_their_queue(tmp_path, kind):
    assert len(plan(tmp_path, *QUEUES, SUSPENDED[kind]())[0]) == 2
    ignoring = {**CONFIG, "queues": {"source": []}}
    assert plan(tmp_path, *QUEUES, SUSPENDED[kind](), config=ignoring)[0] == set()


def test_a_suspended_job_without_a_queue_has_no_pods(tmp_path):
    made = job(2, suspend=True)
    made["metadata"]["labels"] = {}
    assert plan(tmp_path, *QUEUES, made)[0] == set()


def test_pods_that_exist_count_for_their_owner(tmp_path):
    there = pod("j-w-0", cpu=1, nodeName="n1", phase="Running")
    there["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j-w-0", "controller": True}
    ]
    bound, made = plan(tmp_path, *QUEUES, job_set(4), there)
    assert len(bound) == 3
    assert made["groups"][0]["status"] == "Bound"


def test_pod_groups_of_kueue(tmp_path):
    def member(index, count="3"):
        made = pod(f"p{index}", cpu=1)
        made["metadata"]["labels"] = {LABEL: "users", "kueue.x-k8s.io/pod-group-name": "g"}
        made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": count}
        return made

    assert plan(tmp_path, *QUEUES, member(0), member(1))[0] == set()
    assert len(plan(tmp_path, *QUEUES, *map(member, range(3)))[0]) == 3
    bound, made = plan(tmp_path, *QUEUES, member(0, "many"))
    assert bound == set()
    assert "pod-group-total-count" in made["pending"][0]["reason"]


def test_a_job_that_comes_to_be_known_after_its_pods():
    """As in a cluster, where the watch of pods may be ahead of the one of Jobs."""
    stage = kueue()
    stage.state.queues.follows_owners = True
    reference = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    pods = [queued(f"p{index}", queue="", owner=reference) for index in range(2)]
    stage.add(*pods)
    assert "waits for Job shop/j" in stage.wait_of("p0")
    metadata = ObjectMeta(name="j", namespace="shop", uid="Job-j", labels={LABEL: "users"})
    found = ScaledOwner(metadata, ScaleSpec(parallelism=2, completions=2))
    stage.state.owner_taker("Job")([Change("Job-j", found)])
    assert stage.wait_of("p0") == ""
    assert stage.queue_of("p0") == "ClusterQueue/team"
    (group,) = stage.state.gangs.groups
    assert stage.state.gangs.groups.job(group).min_members == 2
    assert set(group.progress) == {"pod-p0", "pod-p1"}
    running = replace(pods[0], spec=replace(pods[0].spec, node_name="n1"))
    stage.add(running)
    assert stage.queue_of("p0") == "ClusterQueue/team"


def test_the_first_pod_of_a_group_with_a_domain_does_not_wait_for_those_that_follow_it():
    """The controller of a JobSet with an exclusive topology creates them once it has a node."""
    stage = kueue()
    stage.state.queues.follows_owners = True
    job_set = ObjectMeta(name="j", namespace="shop", uid="JobSet-j", labels={LABEL: "users"})
    above = OwnerReference(kind="JobSet", name="j", uid="JobSet-j", controller=True)
    metadata = ObjectMeta(name="j-w-0", namespace="shop", uid="Job-w", owner_references=(above,))
    stage.state.owner_taker("JobSet")([Change("JobSet-j", ScaledOwner(job_set, ScaleSpec(replicas=4)))])
    job_of_it = ScaledOwner(metadata, ScaleSpec(parallelism=4, completions=4))
    stage.state.owner_taker("Job")([Change("Job-w", job_of_it)])
    controller = OwnerReference(kind="Job", name="j-w-0", uid="Job-w", controller=True)
    first = queued("p0", queue="", owner=controller)
    stage.add(replace(first, metadata=replace(first.metadata, annotations={JOB_SET_DOMAIN: "rack"})))
    assert stage.queue_of("p0") == "ClusterQueue/team"
    assert stage.wait_of("p0") == ""
    (group,) = stage.state.gangs.groups
    found = stage.state.gangs.groups.job(group)
    assert (found.min_members, [each.expected for each in found.groups]) == (1, [4])

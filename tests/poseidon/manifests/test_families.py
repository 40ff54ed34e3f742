"""Workloads of other projects: which pods each kind stands for, and that pods of the input are not made again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.poseidon.manifests.objects import pod

Object = dict[str, Any]


def template(cpu: Any = None, **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    spec.setdefault("containers", [{"name": "c", "resources": resources}])
    return {"metadata": {"labels": {"app": "x"}}, "spec": spec}


def made(
    api_version: str, kind: str, name: str = "w", *, metadata: Any = None, status: Any = None, **spec: Any
) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", **(metadata or {})},
        "spec": spec,
        "status": status or {},
    }


def owned(name: str, kind: str, owner: str = "w", *, phase: str = "Running", labels: Any = None) -> Object:
    owners = [{"apiVersion": "x/v1", "kind": kind, "name": owner, "uid": "u", "controller": True}]
    return pod(name, owners=owners, labels=labels, phase=phase)


def names(loaded: Any) -> list[str]:
    return sorted(each.metadata.name for each in loaded.pods)


def labels_of(loaded: Any, name: str) -> dict[str, str]:
    (found,) = [each for each in loaded.pods if each.metadata.name == name]
    return found.metadata.labels


JOB_SET = made(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    replicatedJobs=[
        {"name": "driver", "template": {"spec": {"template": template()}}},
        {
            "name": "work",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "completions": 2, "template": template()}},
        },
    ],
)
LEADERS = made(
    "leaderworkerset.x-k8s.io/v1",
    "LeaderWorkerSet",
    replicas=2,
    leaderWorkerTemplate={"size": 3, "leaderTemplate": template("2"), "workerTemplate": template("1")},
)
RAY: Object = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [
        {
            "groupName": "gpu",
            "replicas": 2,
            "minReplicas": 0,
            "maxReplicas": 5,
            "numOfHosts": 2,
            "template": template(),
        },
        {"groupName": "few", "minReplicas": 1, "template": template()},
        {"groupName": "most", "replicas": 9, "maxReplicas": 1, "template": template()},
        {"groupName": "none", "suspend": True, "replicas": 3, "template": template()},
    ],
}
RAY_PODS = ["w-few-worker-0", *(f"w-gpu-worker-{at}" for at in range(4)), "w-head", "w-most-worker-0"]
REPLICAS: Object = {"Master": {"template": template()}, "Worker": {"replicas": 2, "template": template()}}
VOLCANO = made(
    "batch.volcano.sh/v1alpha1",
    "Job",
    minAvailable=2,
    tasks=[
        {"name": "ps", "replicas": 1, "template": template()},
        {"name": "work", "replicas": 2, "template": template()},
    ],
)
STEP = {"name": "a", "container": {"image": "i"}}
WORKFLOW = made(
    "argoproj.io/v1alpha1",
    "Workflow",
    entrypoint="main",
    templates=[
        {
            "name": "main",
            "steps": [
                [{"name": "first", "template": "a"}],
                [{"name": "many", "template": "b", "withItems": [1, 2, 3]}, {"name": "one", "template": "a"}],
            ],
        },
        STEP,
        {"name": "b", "script": {"image": "i", "resources": {"requests": {"cpu": 1}}}},
    ],
)
GRAPH = made(
    "argoproj.io/v1alpha1",
    "Workflow",
    entrypoint="main",
    templates=[
        {
            "name": "main",
            "dag": {
                "tasks": [
                    {"name": "A", "template": "a"},
                    {"name": "B", "template": "a", "dependencies": ["A"]},
                    {"name": "C", "template": "a", "depends": "A.Succeeded", "withSequence": {"count": "3"}},
                    {"name": "D", "template": "a", "depends": "B && C"},
                ]
            },
        },
        STEP,
    ],
)
SPARK = made(
    "sparkoperator.k8s.io/v1beta2",
    "SparkApplication",
    type="Scala",
    driver={"cores": 1, "memory": "512m"},
    executor={"cores": 2, "instances": 2, "memory": "8g", "labels": {"mine": "yes"}},
)
KUEUE = made(
    "kueue.x-k8s.io/v1beta1",
    "Workload",
    podSets=[
        {"name": "main", "count": 2, "template": template()},
        {"name": "side", "count": 1, "template": template()},
    ],
)
RUNTIME: Object = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {
                                "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
                            },
                            "spec": {"template": template(containers=[{"name": "node"}])},
                        },
                    }
                ]
            }
        },
    },
}
TRAIN = made(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    runtimeRef={"name": "torch"},
    trainer={"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "4"}}},
)


def kubeflow(kind: str, field: str, version: str = "kubeflow.org/v1", **spec: Any) -> Object:
    return made(version, kind, **{field: REPLICAS, **spec})


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([JOB_SET], ["w-driver-0-0", *(f"w-work-{job}-{at}" for job in (0, 1) for at in (0, 1))]),
        ([LEADERS], ["w-0", "w-0-1", "w-0-2", "w-1", "w-1-1", "w-1-2"]),
        ([made("ray.io/v1", "RayCluster", **RAY)], RAY_PODS),
        ([made("ray.io/v1", "RayJob", rayClusterSpec=RAY)], RAY_PODS),
        ([made("ray.io/v1", "RayService", rayClusterConfig=RAY)], RAY_PODS),
        *(
            ([kubeflow(kind, field)], ["w-master-0", "w-worker-0", "w-worker-1"])
            for kind, field in (
                ("PyTorchJob", "pytorchReplicaSpecs"),
                ("TFJob", "tfReplicaSpecs"),
                ("XGBoostJob", "xgbReplicaSpecs"),
                ("PaddleJob", "paddleReplicaSpecs"),
                ("JAXJob", "jaxReplicaSpecs"),
            )
        ),
        *(
            (
                [
                    made(
                        version,
                        "MPIJob",
                        mpiReplicaSpecs={"Launcher": REPLICAS["Master"], "Worker": REPLICAS["Worker"]},
                    )
                ],
                ["w-launcher", "w-worker-0", "w-worker-1"],
            )
            for version in ("kubeflow.org/v1", "kubeflow.org/v2beta1")
        ),
        ([TRAIN, RUNTIME], ["w-node-0-0", "w-node-0-1", "w-node-0-2"]),
        ([VOLCANO], ["w-ps-0", "w-work-0", "w-work-1"]),
        ([WORKFLOW], ["w-a-0", "w-b-0", "w-b-1", "w-b-2"]),
        ([GRAPH], ["w-a-0", "w-a-1", "w-a-2", "w-a-3"]),
        ([made("argoproj.io/v1alpha1", "Rollout", replicas=2, template=template())], ["w-0", "w-1"]),
        ([SPARK], ["w-driver", "w-exec-1", "w-exec-2"]),
        ([KUEUE], ["w-main-0", "w-main-1", "w-side-0"]),
        (
            [
                made(
                    "serving.kserve.io/v1beta1",
                    "InferenceService",
                    predictor={"minReplicas": 2, "model": {"modelFormat": {"name": "sklearn"}}},
                    transformer={"containers": [{"name": "t"}]},
                )
            ],
            ["w-predictor-0", "w-predictor-1", "w-transformer-0"],
        ),
        (
            [
                made(
                    "serving.knative.dev/v1",
                    "Service",
                    template={
                        "metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "2"}},
                        "spec": {"containers": [{"image": "i"}]},
                    },
                )
            ],
            ["w-deployment-0", "w-deployment-1"],
        ),
        (
            [
                made(
                    "serving.knative.dev/v1",
                    "Service",
                    template={
                        "metadata": {
                            "annotations": {
                                "autoscaling.knative.dev/min-scale": "1",
                                "autoscaling.knative.dev/initial-scale": "2",
                            }
                        },
                        "spec": {"containers": [{"image": "i"}]},
                    },
                )
            ],
            ["w-deployment-0", "w-deployment-1"],
        ),
    ],
    ids=lambda value: f"{value[0]['apiVersion']} {value[0]['kind']}" if isinstance(value[0], dict) else "",
)
def test_what_each_kind_stands_for(load, objects, expected):
    loaded = load(*objects)
    assert names(loaded) == expected
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    "given",
    [
        {**JOB_SET, "spec": {**JOB_SET["spec"], "suspend": True}},
        {**JOB_SET, "status": {"conditions": [{"type": "Completed", "status": "True"}]}},
        {**JOB_SET, "metadata": {**JOB_SET["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        made("ray.io/v1", "RayCluster", suspend=True, **RAY),
        made("ray.io/v1", "RayJob", suspend=True, rayClusterSpec=RAY),
        made("ray.io/v1", "RayJob", status={"jobDeploymentStatus": "Complete"}, rayClusterSpec=RAY),
        kubeflow("TFJob", "tfReplicaSpecs", runPolicy={"suspend": True}),
        {
            **kubeflow("TFJob", "tfReplicaSpecs"),
            "status": {"conditions": [{"type": "Succeeded", "status": "True"}]},
        },
        {**VOLCANO, "status": {"state": {"phase": "Completed"}}},
        {**WORKFLOW, "spec": {**WORKFLOW["spec"], "suspend": True}},
        {**WORKFLOW, "status": {"phase": "Succeeded"}},
        {**SPARK, "status": {"applicationState": {"state": "COMPLETED"}}},
        {**KUEUE, "status": {"conditions": [{"type": "Finished", "status": "True"}]}},
    ],
)
def test_what_is_suspended_over_or_going_creates_nothing(load, given):
    loaded = load(given)
    assert (names(loaded), loaded.warnings) == ([], ())


class TestPodsOfTheInput:
    @pytest.mark.parametrize(
        ("given", "there", "created"),
        [
            # ... by their owner alone, ...
            (kubeflow("PyTorchJob", "pytorchReplicaSpecs"), [owned("x", "PyTorchJob")], 2),
            (
                kubeflow("PyTorchJob", "pytorchReplicaSpecs"),
                [owned(f"x{at}", "PyTorchJob") for at in range(5)],
                0,
            ),
            (
                made("ray.io/v1", "RayCluster", **RAY),
                [owned("w-head", "RayCluster"), owned("x", "RayCluster")],
                5,
            ),
            (VOLCANO, [owned("w-work-0", "Job")], 2),
            (SPARK, [owned("w-driver", "SparkApplication"), owned("x", "Pod", "w-driver")], 1),
            (WORKFLOW, [owned("w-123", "Workflow")], 3),
            # ... those of another owner, of another kind or dying, are none of them, ...
            (kubeflow("TFJob", "tfReplicaSpecs"), [owned("x", "PyTorchJob")], 3),
            (kubeflow("TFJob", "tfReplicaSpecs"), [owned("x", "TFJob", "other")], 3),
            (kubeflow("TFJob", "tfReplicaSpecs"), [owned("x", "TFJob", phase="Failed")], 3),
            # ... one that has succeeded is not done again, ...
            (kubeflow("TFJob", "tfReplicaSpecs"), [owned("x", "TFJob", phase="Succeeded")], 2),
            # ... and those of Jobs, StatefulSets and ReplicaSets that are not in the input count as well.
            (JOB_SET, [owned("w-work-1-0-abc", "Job", "w-work-1")], 4),
            (LEADERS, [owned("w-0", "StatefulSet"), owned("w-0-1", "StatefulSet", "w-0")], 4),
            (
                made("argoproj.io/v1alpha1", "Rollout", replicas=2, template=template()),
                [owned("w-5f-x", "ReplicaSet", "w-5f", labels={"rollouts-pod-template-hash": "5f"})],
                1,
            ),
        ],
    )
    def test_they_are_not_created_again(self, load, given, there, created):
        loaded = load(given, *there)
        assert len(loaded.pods) == created + len(there)

    def test_labels_tell_of_which_set_they_are(self, load):
        prefix = "training.kubeflow.org"
        labels = {
            f"{prefix}/job-name": "w",
            f"{prefix}/replica-type": "worker",
            f"{prefix}/replica-index": "1",
        }
        there = owned("x", "TFJob", labels=labels)
        assert names(load(kubeflow("TFJob", "tfReplicaSpecs"), there)) == ["w-master-0", "w-worker-0", "x"]

    def test_so_does_the_job_that_owns_them(self, load):
        there = owned("w-work-1-0-abc", "Job", "w-work-1")
        assert names(load(JOB_SET, there)) == [
            "w-driver-0-0",
            "w-work-0-0",
            "w-work-0-1",
            "w-work-1-0-abc",
            "w-work-1-1",
        ]

    def test_owners_in_between_are_expanded_by_themselves(self, load):
        owners = [
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "w", "controller": True}
        ]
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "w-work-0", "namespace": "shop", "ownerReferences": owners},
            "spec": {"parallelism": 1, "template": template()},
        }
        assert names(load(JOB_SET, job)) == ["w-driver-0-0", "w-work-0-0", "w-work-1-0", "w-work-1-1"]

    def test_a_ray_jobs_cluster_is_expanded_by_itself(self, load):
        owners = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "w", "controller": True}]
        cluster = made(
            "ray.io/v1",
            "RayCluster",
            "w-abc",
            metadata={"ownerReferences": owners},
            headGroupSpec=RAY["headGroupSpec"],
        )
        assert names(load(made("ray.io/v1", "RayJob", rayClusterSpec=RAY), cluster)) == ["w-abc-head"]

    def test_a_workload_of_kueue_gives_way_to_its_job(self, load):
        owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}]
        given = {**KUEUE, "metadata": {**KUEUE["metadata"], "ownerReferences": owners}}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "shop"},
            "spec": {"template": template()},
        }
        assert names(load(given, job)) == ["j-0"]
        assert len(load(given, owned("j-0", "Job", "j")).pods) == 3

    def test_replica_sets_of_a_rollout_are_expanded_by_themselves(self, load):
        owners = [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "w", "controller": True}]
        replicas = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "w-5f", "namespace": "shop", "ownerReferences": owners},
            "spec": {"replicas": 2, "template": template()},
        }
        rollout = made("argoproj.io/v1alpha1", "Rollout", replicas=3, template=template())
        assert names(load(rollout, replicas)) == ["w-0", "w-5f-0", "w-5f-1"]


class TestWhatControllersAdd:
    def test_job_sets_give_each_job_a_domain_of_its_own_if_asked(self, load):
        given = {
            **JOB_SET,
            "metadata": {
                **JOB_SET["metadata"],
                "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"},
            },
        }
        loaded = load(given)
        first, other = (labels_of(loaded, name) for name in ("w-work-0-0", "w-work-1-0"))
        key = "jobset.sigs.k8s.io/job-key"
        assert first[key] == labels_of(loaded, "w-work-0-1")[key] != other[key]
        affinity = loaded.pods[0].spec.affinity
        assert affinity.pod_affinity.required[0].topology_key == "zone"
        assert affinity.pod_anti_affinity.required[0].topology_key == "zone"
        assert affinity.pod_anti_affinity.required[0].namespace_selector is not None

    def test_leaders_and_workers_know_their_group(self, load):
        loaded = load(LEADERS)
        name = "leaderworkerset.sigs.k8s.io"
        assert labels_of(loaded, "w-1-2")[f"{name}/worker-index"] == "2"
        assert (
            labels_of(loaded, "w-1")[f"{name}/group-key"] == labels_of(loaded, "w-1-2")[f"{name}/group-key"]
        )
        requests = {
            each.metadata.name: each.spec.containers[0].resources.requests["cpu"] for each in loaded.pods
        }
        assert (requests["w-1"], requests["w-1-1"]) == ("2", "1")

    def test_subgroups_of_leaders_and_workers_have_domains_of_their_own(self, load):
        name = "leaderworkerset.sigs.k8s.io"
        annotations = {f"{name}/exclusive-topology": "zone", f"{name}/subgroup-exclusive-topology": "rack"}
        given = made(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            metadata={"name": "w", "namespace": "shop", "annotations": annotations},
            leaderWorkerTemplate={
                "size": 5,
                "subGroupPolicy": {"subGroupSize": 2},
                "workerTemplate": template(),
            },
        )
        loaded = load(given)
        labels = {each.metadata.name: each.metadata.labels for each in loaded.pods}
        assert {pod: found[f"{name}/subgroup-index"] for pod, found in labels.items()} == {
            "w-0": "0",
            "w-0-1": "0",
            "w-0-2": "0",
            "w-0-3": "1",
            "w-0-4": "1",
        }
        assert len({found[f"{name}/subgroup-key"] for found in labels.values()}) == 2
        terms = loaded.pods[-1].spec.affinity.pod_anti_affinity.required
        assert [each.topology_key for each in terms] == ["zone", "rack"]
        assert [each.namespace_selector for each in terms] == [None, None], "they look at their own namespace"
        assert {each.metadata.annotations[f"{name}/subgroup-size"] for each in loaded.pods} == {"2"}

    def test_each_role_of_a_disaggregated_set_is_a_leader_worker_set(self, load):
        name = "leaderworkerset.sigs.k8s.io"
        annotations = {f"{name}/exclusive-topology": "rack"}
        roles: list[Object] = [
            {
                "name": role,
                "metadata": {"annotations": annotations},
                "spec": {
                    "replicas": count,
                    "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()},
                },
            }
            for role, count in (("prefill", 2), ("decode", 1))
        ]
        given = made("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", roles=roles)
        loaded = load(given)
        assert names(loaded) == sorted(
            f"w-0-{group}{member}"
            for group in ("prefill-0", "prefill-1", "decode-0")
            for member in ("", "-1")
        )
        assert {each.metadata.annotations[f"{name}/exclusive-topology"] for each in loaded.pods} == {"rack"}
        owners = [
            {"apiVersion": "x/v1", "kind": "DisaggregatedSet", "name": "w", "uid": "u", "controller": True}
        ]
        there = made(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            metadata={
                "name": "w-0-58f79fdb-decode",
                "namespace": "shop",
                "labels": {"disaggregatedset.x-k8s.io/role": "decode"},
                "ownerReferences": owners,
            },
            **roles[1]["spec"],
        )
        expected = [each for each in names(loaded) if "decode" not in each]
        expected += ["w-0-58f79fdb-decode-0", "w-0-58f79fdb-decode-0-1"]
        assert names(load(given, there)) == sorted(expected)

    def test_a_leader_may_be_in_no_subgroup(self, load):
        name = "leaderworkerset.sigs.k8s.io"
        policy = {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}
        made_of = {"size": 5, "subGroupPolicy": policy, "workerTemplate": template()}
        loaded = load(made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate=made_of))
        assert f"{name}/subgroup-index" not in labels_of(loaded, "w-0")
        found = [labels_of(loaded, f"w-0-{index}")[f"{name}/subgroup-index"] for index in range(1, 5)]
        assert found == ["0", "0", "1", "1"]

    def test_a_volcano_job_is_a_gang(self, load):
        loaded = load(VOLCANO)
        (group,) = loaded.for_models
        assert (group.metadata.name, group.spec.min_member) == ("w", 2)
        assert all(each.metadata.annotations["scheduling.k8s.io/group-name"] == "w" for each in loaded.pods)
        assert {each.spec.scheduler_name for each in loaded.pods} == {"volcano"}

    def test_the_trainers_nodes_have_its_resources(self, load):
        assert {each.spec.containers[0].resources.requests["cpu"] for each in load(TRAIN, RUNTIME).pods} == {
            "4"
        }

    def test_a_train_job_may_be_a_gang(self, load):
        runtime = {**RUNTIME, "spec": {**RUNTIME["spec"], "podGroupPolicy": {"coscheduling": {}}}}
        loaded = load(TRAIN, runtime)
        (group,) = loaded.for_models
        assert group.spec.min_member == 3
        assert labels_of(loaded, "w-node-0-0")["scheduling.x-k8s.io/pod-group"] == "w"

    def test_spark_asks_for_memory_beside_what_it_gives(self, load):
        found = {each.metadata.name: each for each in load(SPARK).pods}
        driver, executor = (
            found[name].spec.containers[0].resources.requests for name in ("w-driver", "w-exec-1")
        )
        assert (driver["cpu"], driver["memory"]) == (1, "896Mi")
        assert (executor["cpu"], executor["memory"]) == (2, "9011Mi")
        assert found["w-exec-1"].metadata.labels["mine"] == "yes"

    def test_an_autoscaler_beside_the_head_of_ray_asks_too(self, load):
        loaded = load(
            made("ray.io/v1", "RayCluster", enableInTreeAutoscaling=True, headGroupSpec=RAY["headGroupSpec"])
        )
        assert [each.name for each in loaded.pods[0].spec.containers] == ["c", "autoscaler"]

    def test_a_workflows_parallelism_bounds_it(self, load):
        given = {**WORKFLOW, "spec": {**WORKFLOW["spec"], "parallelism": 2}}
        assert len(load(given).pods) == 2


class TestWhatIsNotKnown:
    def test_a_runtime_that_is_missing_is_named(self, load):
        loaded = load(TRAIN)
        (line,) = loaded.warnings
        assert "TrainJob shop/w: spec.runtimeRef: ClusterTrainingRuntime torch is not in the input" in line
        assert "`kubectl get clustertrainingruntimes -o yaml`" in line

    def test_a_service_that_follows_its_use_is_named(self, load):
        given = made("serving.knative.dev/v1", "Service", template={"spec": {"containers": [{"image": "i"}]}})
        (line,) = load(given).warnings
        assert "autoscaling.knative.dev/min-scale" in line

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            (
                made("ray.io/v1", "RayCluster", workerGroupSpecs=5),
                "workerGroupSpecs: expected a list of maps",
            ),
            (
                kubeflow("TFJob", "tfReplicaSpecs", tfReplicaSpecs={"Worker": {"replicas": -1}}),
                "replicas: -1 is negative",
            ),
            (
                kubeflow("TFJob", "tfReplicaSpecs", tfReplicaSpecs={"Worker": {"replicas": 10**12}}),
                "absurdly large",
            ),
            (made("argoproj.io/v1alpha1", "Rollout", template={"spec": {"containers": 5}}), "containers"),
            (
                made("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replicas": 10**6, "numOfHosts": 10**6}]),
                "stands for more than 1000000 pods",
            ),
            (
                made(
                    "leaderworkerset.x-k8s.io/v1",
                    "LeaderWorkerSet",
                    replicas=10**6,
                    leaderWorkerTemplate={"size": 10**5, "workerTemplate": template()},
                ),
                "stands for more than 1000000 pods",
            ),
            (made("argoproj.io/v1alpha1", "Workflow", entrypoint="gone"), "'gone' is not among them"),
        ],
    )
    def test_one_that_makes_no_sense_is_left_out_with_a_warning(self, load, given, what):
        loaded = load(given, pod("other"))
        assert names(loaded) == ["other"]
        (line,) = loaded.warnings
        assert what in line

    @pytest.mark.parametrize(
        "holding",
        [
            {"spec": {"podTemplate": {"spec": {"containers": [{"name": "c"}]}}}},
            {"spec": {"podTemplate": {"containers": [{"name": "c"}]}}},
            {"spec": {"podSpec": {"containers": [{"name": "c"}]}}},
            {"template": {"spec": {"containers": [{"name": "c"}]}}},
            {"jobs": [{"deep": {"template": {"containers": [{"name": "c"}]}}}]},
        ],
    )
    def test_other_kinds_that_hold_pods_are_named(self, load, holding):
        given = {"apiVersion": "x.example/v1", "kind": "Thing", "metadata": {"name": "t"}, **holding}
        (line,) = load(given).warnings
        assert line.startswith("Thing (x.example): 1 left out (t): it creates pods")


def test_of_alternatives_of_one_object_the_last_counts(load):
    more = {
        **VOLCANO,
        "spec": {**VOLCANO["spec"], "tasks": [{"name": "ps", "replicas": 5, "template": template()}]},
    }
    loaded = load(VOLCANO, more)
    assert len(loaded.pods) == 5
    assert "given differently" in loaded.warnings[0]

"""The roles of ``deploy/`` grant what the bridge makes use of, and no verb more: a server that enforces them tells.

The bridge runs all examples' features at once; what it asked for and was granted is compared with each role.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.kube.api.collections import QUEUED_JOBS, QUEUED_OWNERS
from poseidon.queues.queue_names import SUSPENDABLE
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.api_server.measured_use import MetricsServer, ReportOptions, run_reporters
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.device_driver import make_slice
from poseidon.testbed.controllers.true_use import TrueUse
from poseidon.testbed.controllers.volumes import VolumeSimulation
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.deploy.installation import installed
from tests.deploy.manifests import WITH_ROLES, everything, of_kind, rights_of
from tests.support.cluster import pod
from tests.support.device_objects import device_claim, device_class, node_with_devices, pod_with_device
from tests.support.time_limits import stretch
from tests.support.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CONFIG = {
    "schedulerNames": ["*"],
    "policy": {"name": "cpu_mem"},
    "costModels": [
        {"name": "load_threshold", "args": {"usageThresholds": {"memory": 99}}},
        {"name": "numa_fit"},
        {
            "name": "network_overhead",
            "args": {"weightsName": "UserDefined", "networkTopologyName": "net-topology"},
        },
        {"name": "topology", "args": {"topologyConfigMapNameSpace": "default"}},
    ],
    "announcements": {"countsAfter": "0s"},
    "queues": {
        "source": ["kueue", "volcano", "kai", "koordinator", "scheduler-plugins"],
        "admission": "poseidon",
    },
    "devices": {"sharing": ["koordinator"]},
    "recovery": {"recreateBarePods": True},
    "utilisation": {"metricsServer": {"mode": "auto", "interval": "1s"}},
}
ROLES = {".": "poseidon", **{each: f"poseidon-{each}" for each in WITH_ROLES}}


def definition(version: str, plural: str, kind: str, *, cluster: bool = False, status: bool = True):
    group, _, served = version.partition("/")
    subresources: dict[str, object] = {"subresources": {"status": {}}} if status else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if cluster else "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": served, "served": True, "storage": True, **subresources}],
        },
    }


def native(name: str):
    """Of Kubernetes itself; its group has PriorityClasses too, and one PodGroup is as good as another's."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }


DEFINITIONS = [
    definition("scheduling.k8s.io/v1beta1", "podgroups", "PodGroup"),
    definition("scheduling.k8s.io/v1alpha3", "compositepodgroups", "CompositePodGroup"),
    definition("scheduling.k8s.io/v1alpha1", "workloads", "Workload"),
    definition("scheduling.x-k8s.io/v1alpha1", "podgroups", "PodGroup"),
    definition("scheduling.sigs.k8s.io/v1alpha1", "podgroups", "PodGroup"),
    definition("scheduling.volcano.sh/v1beta1", "podgroups", "PodGroup"),
    definition("scheduling.run.ai/v2alpha2", "podgroups", "PodGroup"),
    definition("scheduler.grove.io/v1alpha1", "podgangs", "PodGang"),
    definition("topology.volcano.sh/v1alpha1", "hypernodes", "HyperNode", cluster=True),
    *(
        definition("kueue.x-k8s.io/v1beta2", plural, kind, cluster=plural != "localqueues")
        for plural, kind in (
            ("clusterqueues", "ClusterQueue"),
            ("localqueues", "LocalQueue"),
            ("cohorts", "Cohort"),
            ("resourceflavors", "ResourceFlavor"),
            ("topologies", "Topology"),
            ("workloadpriorityclasses", "WorkloadPriorityClass"),
        )
    ),
    definition("scheduling.volcano.sh/v1beta1", "queues", "Queue", cluster=True),
    definition("scheduling.run.ai/v2", "queues", "Queue", cluster=True),
    definition("scheduling.sigs.k8s.io/v1alpha1", "elasticquotas", "ElasticQuota"),
    definition("scheduling.x-k8s.io/v1alpha1", "elasticquotas", "ElasticQuota"),
    *(
        definition(resource.path.removeprefix("/apis/").rpartition("/")[0], resource.name, kind)
        for kind, resource in QUEUED_OWNERS.items()
    ),
    definition("scheduling.koordinator.sh/v1alpha1", "devices", "Device", cluster=True),
    definition("slo.koordinator.sh/v1alpha1", "nodemetrics", "NodeMetric", cluster=True),
    definition("appgroup.diktyo.x-k8s.io/v1alpha1", "appgroups", "AppGroup"),
    definition("networktopology.diktyo.x-k8s.io/v1alpha1", "networktopologies", "NetworkTopology"),
    definition(
        "topology.node.k8s.io/v1alpha2", "noderesourcetopologies", "NodeResourceTopology", cluster=True
    ),
]


OTHER_VERSIONS = ("topology.node.k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha2")
"""Of kinds that are served here in another one."""


def of_examples(*folders: str):
    """All objects of examples that an API server keeps, and the pods that controllers would make."""
    for folder in folders:
        for path in sorted((EXAMPLES / folder).rglob("*.yaml")):
            for each in yaml.safe_load_all(path.read_text()):
                skipped = ("SchedulerConfiguration", "NodeMetrics", "RuntimeClass")
                if (
                    isinstance(each, dict)
                    and each.get("apiVersion") not in OTHER_VERSIONS
                    and each["kind"] not in skipped
                ):
                    yield each
                    yield from pods_of(each)


def pods_of(workload):
    """The pods of a workload, without an owner: nobody would miss them."""
    spec = workload.get("spec") or {}
    if "template" not in spec:
        return
    owner, template = workload["metadata"], spec["template"]
    for index in range(spec.get("replicas", spec.get("parallelism", 1))):
        metadata = {
            **template.get("metadata", {}),
            "name": f"{owner['name']}-{index}",
            "namespace": owner.get("namespace", "default"),
        }
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template["spec"])}


def full_node(name: str, **labels: str):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def running(name: str, node: str, **spec):
    made = pod(name, cpu="4", nodeName=node, **spec)
    made["status"] = {"phase": "Running"}
    return made


def only_on(node: str):
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def for_evictions():
    """Two full nodes: of one the pod may be evicted, of the other a budget forbids it."""
    yield {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "above"},
        "value": 100_000,
    }
    for name in ("free", "guarded"):
        yield full_node(name)
        victim = running(f"{name}-victim", name)
        victim["metadata"]["labels"] = {"app": name}
        yield victim
        yield pod(f"{name}-urgent", cpu="4", priorityClassName="above", **only_on(name))
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }


def refused_by_its_kubelet():
    yield full_node("small")
    made = pod("bare", cpu="1", nodeName="small")
    made["status"] = {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Node didn't have enough resource: cpu",
    }
    yield made


def of_queues():
    """A queue of each project with a status, in which a pod waits or is placed."""
    amounts = [{"name": "cpu", "nominalQuota": 100}, {"name": "memory", "nominalQuota": "100Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": amounts}]}
    for version, kind, spec in (
        ("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {}),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [group]}),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue", {"clusterQueue": "q"}),
        ("scheduling.volcano.sh/v1beta1", "Queue", {"weight": 1, "capability": {"cpu": "100"}}),
        ("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", {"min": {"cpu": "10"}}),
        ("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", {"min": {"cpu": "10", "memory": "10Gi"}}),
    ):
        name = "f" if kind == "ResourceFlavor" else "q"
        namespace = "plugged" if version.startswith("scheduling.x-k8s.io") else "default"
        yield {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
    yield pod("plugged", cpu="100m", namespace="plugged")
    yield full_node("queued")
    for key in (
        "kueue.x-k8s.io/queue-name",
        "scheduling.volcano.sh/queue-name",
        "quota.scheduling.koordinator.sh/name",
    ):
        made = pod(f"queued-{key.partition('.')[0]}", cpu="100m")
        made["metadata"]["labels"] = {key: "q"}
        yield made


def suspended():
    """A suspended object in a queue of each kind that the bridge resumes."""
    template = {"spec": pod("made", cpu="100m")["spec"]}
    replicas = {"Worker": {"replicas": 1, "template": template}}
    cluster = {"headGroupSpec": {"template": template}}
    job = {"parallelism": 1, "template": template}
    fields: dict[str, dict[str, Any]] = {
        "Job": job,
        "JobSet": {"replicatedJobs": [{"name": "r", "template": {"spec": job}}]},
        "RayCluster": cluster,
        "RayJob": {"rayClusterSpec": cluster},
        "SparkApplication": {
            each: {"schedulerName": "poseidon", "cores": 1, "memory": "1m", "memoryOverhead": "1m"}
            for each in ("driver", "executor")
        },
        **{
            kind: {f"{field}ReplicaSpecs": replicas, "runPolicy": {"suspend": True}}
            for kind, field in (
                ("JAXJob", "jax"), ("MPIJob", "mpi"), ("PaddleJob", "paddle"), ("PyTorchJob", "pytorch"),
                ("TFJob", "tf"), ("XGBoostJob", "xgb"),
            )
        },
    }  # fmt: skip
    assert fields.keys() == SUSPENDABLE
    for kind, spec in fields.items():
        resource = QUEUED_JOBS if kind == "Job" else QUEUED_OWNERS[kind]
        yield {
            "apiVersion": resource.path.removeprefix("/apis/").rpartition("/")[0],
            "kind": kind,
            "metadata": {
                "name": f"suspended-{kind.lower()}",
                "namespace": "default",
                "labels": {"kueue.x-k8s.io/queue-name": "q"},
            },
            "spec": spec if "runPolicy" in spec else {**spec, "suspend": True},
        }


def waiting_as_a_group():
    yield native("native")
    yield {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "tree", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 1}}},
    }
    leaf = native("leaf")
    leaf["spec"]["parentCompositePodGroupName"] = "tree"
    yield leaf
    yield pod("lonely", schedulingGroup={"podGroupName": "leaf"})
    yield pod("alone", schedulingGroup={"podGroupName": "native"})


def shares(uids):
    """A pod of each kind of owner whose size the bridge looks up, of which half makes a gang."""
    for kind, uid in uids.items():
        made = pod(f"half-of-{kind.lower()}", cpu="100m")
        made["metadata"] |= {
            "annotations": {"firmament-gang-scheduling": "50"},
            "ownerReferences": [
                {
                    "apiVersion": OWNERS[kind],
                    "kind": kind,
                    "name": f"owner-{kind.lower()}",
                    "uid": uid,
                    "controller": True,
                }
            ],
        }
        yield made


def with_a_device():
    """A claim that is made for its pod already, as no controller runs, and a pod whose claim the bridge makes."""
    yield node_with_devices("with-a-device", 2)
    yield make_slice("with-a-device", 2)
    asking = pod("with-extended-resource")
    wanted = {"deviceclass.resource.kubernetes.io/device": "1"}
    asking["spec"]["containers"][0]["resources"]["limits"] = wanted
    yield asking
    yield device_class()
    yield device_claim("device")
    yield pod_with_device("with-device", claim="device")


OWNERS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}


def owners():
    for kind, version in OWNERS.items():
        metadata = {"name": f"owner-{kind.lower()}", "namespace": "default"}
        yield {
            "apiVersion": version,
            "kind": kind,
            "metadata": metadata,
            "spec": {"replicas": 2, "parallelism": 2},
        }


def uids_of(made):
    collections = ("replicasets.apps", "statefulsets.apps", "jobs.batch")
    found = {
        each["metadata"]["name"]: each["metadata"]["uid"]
        for name in collections
        for each in made.listed(name)
    }
    return {kind: found[f"owner-{kind.lower()}"] for kind in OWNERS}


@pytest.mark.timeout(180)
async def test_every_role_grants_what_is_made_use_of_and_no_verb_more(tmp_path):
    async with installed(tmp_path, (), CONFIG) as made:
        made.create(DEFINITIONS)
        for folder in ROLES:
            made.apply(folder)
        made.create(
            of_examples(
                "04-volumes", "06-load-aware", "07-numa", "08-gangs", "09-preemption", "10-network-aware",
                "11-topology-groups",
            )
        )  # fmt: skip
        of_kinds = (
            for_evictions,
            refused_by_its_kubelet,
            waiting_as_a_group,
            of_queues,
            suspended,
            with_a_device,
        )
        for some in of_kinds:
            made.create(some())
        made.create(owners())
        made.create(shares(uids_of(made)))
        store = made.operations.store
        metrics_server = MetricsServer(TrueUse(store), ReportOptions())
        made.cluster.serve_metrics(metrics_server)
        for plural in ("appgroups", "networktopologies", "leases", "resourceclaims"):
            made.cluster.faults.add(
                Fault(f".*/{plural}/[^/]*", "PATCH", times=1, code=409, reason="Conflict")
            )
        background = [
            asyncio.create_task(drive(VolumeSimulation(store))),
            asyncio.create_task(run_reporters([metrics_server], time.time)),
        ]
        await made.start()
        granted = {folder: rights_of(role, folder) for folder, role in ROLES.items()}
        wanted = set().union(*granted.values())

        def unused():
            return {
                folder: left for folder, rights in granted.items() if (left := sorted(rights - made.used()))
            }

        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(stretch(60.0)):
                    while unused():
                        await asyncio.sleep(0.5)
                        # Another node changes what is said of those who wait.
                        made.create([full_node(f"late-{len(made.listed('nodes'))}")])
        finally:
            for each in background:
                each.cancel()
        assert unused() == {}
        assert made.used() == wanted
        assert made.refused == []
        await until(lambda: lease_rights_used(made) == lease_rights_granted(), what="all rights on the Lease")
        assert {each.namespace for each in made.used_of_leases()} == {
            of_kind("Role")["poseidon"]["metadata"]["namespace"]
        }


def lease_rights_granted():
    rules = of_kind("Role")["poseidon"]["rules"]
    return {
        (verb, name) for rule in rules for verb in rule["verbs"] for name in rule.get("resourceNames", [""])
    }


def lease_rights_used(made):
    return {(each.verb, each.name) for each in made.used_of_leases()}


@pytest.mark.parametrize("program", ["bandwidth-agent", "netperf-probe"])
async def test_the_programs_that_measure_nodes_use_what_their_roles_grant(tmp_path, program):
    async with installed(tmp_path, ("network",)) as made:
        namespace = "kube-system" if program == "bandwidth-agent" else "netperf"
        server = pod("server", namespace="netperf", nodeName="n1")
        server["metadata"]["labels"] = {"app.kubernetes.io/name": "netperf-server"}
        server["status"] = {
            "phase": "Running",
            "podIP": "127.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        made.create([full_node("n1"), server])
        await made.cluster.start()
        token = made.cluster.accounts.issue(namespace, program, 600.0)[0]
        write_kubeconfig(tmp_path / "kubeconfig", made.cluster.url, token)
        more = (
            ["--node=n1", "--speed=1000"]
            if program == "bandwidth-agent"
            else ["--namespace=netperf", "--config-map=netperf-metrics", "--seconds=0.1"]
        )
        for _ in range(2):  # what is there already is patched
            words = [program, "--once", f"--kubeconfig={tmp_path / 'kubeconfig'}", *more]
            result = await asyncio.to_thread(CliRunner().invoke, main, words)
            assert result.exit_code == 0, result.output
        used = {
            (each.resource, each.verb)
            for each in made.cluster.access.used[f"system:serviceaccount:{namespace}:{program}"]
        }
        roles = [
            each
            for each in everything("network")
            if each["kind"].endswith("Role") and program in each["metadata"]["name"]
        ]
        assert used == {
            (resource, verb)
            for role in roles
            if program in role["metadata"]["name"]
            for rule in role["rules"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        assert made.refused == []

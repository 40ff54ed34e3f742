"""Small clusters, one per rule: which pods get which nodes, and what is said of the others."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from tests.poseidon.offline.objects import node, pod
from tests.support import storage

Object = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
LACKING_CPU = "0/1 nodes are available: 1 Insufficient cpu."
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Case:
    """``bound``: the nodes that each pod may get; ``pending``: how the message about each other pod begins."""

    name: str
    objects: tuple[Object, ...]
    bound: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)


def as_ours(made: Object) -> Object:
    """An object as users of a cluster write it: pods name the scheduler, and containers their images."""
    made = copy.deepcopy(made)
    if made["kind"] == "Pod":
        made["spec"].setdefault("schedulerName", "poseidon")
        for container in (*made["spec"]["containers"], *made["spec"].get("initContainers", ())):
            container.setdefault("image", "main")
    return made


def labelled(made: Object, **labels: str) -> Object:
    made["metadata"].setdefault("labels", {}).update({key.replace("__", "/"): labels[key] for key in labels})
    return made


def resized(*, asked: int, allocated: int, actual: int, reason: str = "") -> Object:
    """A pod of n1 that is being resized."""
    found = pod("old", cpu=asked, phase="Running", nodeName="n1")
    found["spec"]["containers"][0]["name"] = "c"
    held = {"resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated}}
    waiting = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    found["status"] |= {"containerStatuses": [{"name": "c", **held}], "conditions": waiting}
    return found


def shrunk_as_a_whole(*, asked: int, allocated: int) -> Object:
    """A pod of n1 with resources of its own, of which it is to have less."""
    found = pod("old", cpu="100m", phase="Running", nodeName="n1", resources={"requests": {"cpu": asked}})
    found["status"] |= {
        "allocatedResources": {"cpu": allocated},
        "resources": {"requests": {"cpu": allocated}},
    }
    return found


def risky(name: str, risk: str) -> Object:
    return node(name, taints=[{"key": "risk", "value": risk, "effect": "NoSchedule"}])


def tolerating(name: str, operator: str, value: str) -> Object:
    return pod(name, tolerations=[{"key": "risk", "operator": operator, "value": value}])


def declaring(name: str, *features: str) -> Object:
    made = node(name)
    made["status"]["declaredFeatures"] = list(features)
    return made


def versioned(name: str, version: str, **spec: Any) -> Object:
    return labelled(pod(name, **spec), app="web", version=version)


def apart(*keys: str) -> Object:
    """Anti-affinity to pods of one's app, of one's own values of some labels alone."""
    term = {
        "topologyKey": HOST,
        "labelSelector": {"matchLabels": {"app": "web"}},
        **({"matchLabelKeys": list(keys)} if keys else {}),
    }
    return {"podAntiAffinity": {REQUIRED: [term]}}


def evenly(*keys: str) -> list[Object]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **({"matchLabelKeys": list(keys)} if keys else {}),
    }
    return [constraint]


def with_containers(name: str, *, init: list[tuple[int, bool]], main: int) -> Object:
    """A pod with init containers: cores, and whether each is a sidecar."""
    made = pod(name, cpu=main)
    made["spec"]["initContainers"] = [
        {
            "name": f"i{index}",
            "resources": {"requests": {"cpu": cpu}},
            **({"restartPolicy": "Always"} if sidecar else {}),
        }
        for index, (cpu, sidecar) in enumerate(init)
    ]
    return made


def huge(name: str, amount: str) -> Object:
    made = pod(name)
    resources = made["spec"]["containers"][0]["resources"]
    resources["requests"] |= {"hugepages-2Mi": amount}
    resources["limits"] = {"hugepages-2Mi": amount}
    return made


def offering(name: str, **amounts: str) -> Object:
    made = node(name)
    made["status"]["allocatable"] |= {key.replace("_", "-"): value for key, value in amounts.items()}
    return made


def asking(name: str, resource: str) -> Object:
    made = pod(name)
    made["spec"]["containers"][0]["resources"] = {"requests": {resource: "1"}, "limits": {resource: "1"}}
    return made


def priority_class(name: str, value: int) -> Object:
    version = "scheduling.k8s.io/v1"
    return {"apiVersion": version, "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def nominated() -> Object:
    """A pod of another scheduler that waits for three cores of n1."""
    made = pod("theirs", cpu=3, schedulerName="another", priorityClassName="middle")
    made["status"]["nominatedNodeName"] = "n1"
    return made


def group(version: str, members: int, **spec: Any) -> Object:
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "shop"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": members}}, **spec},
    }


def stating(name: str, priority: int) -> Object:
    made = group("v1beta1", 1, priority=priority)
    made["metadata"]["name"] = name
    return made


def member(name: str, **spec: Any) -> Object:
    return pod(name, schedulingGroup={"podGroupName": "train"}, **spec)


def in_shop(name: str, **options: Any) -> Object:
    return storage.claim(name, namespace="shop", **options)


def disk(name: str, *, read_only: bool, **spec: Any) -> Object:
    source = {"iqn": "iqn.2026-01.com.example:d", "lun": 0, "targetPortal": "t", "readOnly": read_only}
    return pod(name, volumes=[{"name": "data", "iscsi": source}], **spec)


def service() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }


CLASSES = (priority_class("low", 4), priority_class("middle", 5), priority_class("high", 6))
NO_FEATURES = "0/1 nodes are available: 1 node(s) didn't match Pod's required features."
FEATURE = "UserNamespacesHostNetworkSupport"
POOL = (storage.csi_driver("pool.example.com"), storage.storage_class("pool", provisioner="pool.example.com"))
AT_N1 = storage.storage_capacity("n1", "pool", {"matchLabels": {HOST: "n1"}}, capacity="20Gi")

CASES = (
    Case(
        "a shrink frees nothing before the kubelet has seen it",
        (node("n1"), resized(asked=1, allocated=3, actual=3), pod("p", cpu=2)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "a shrink frees nothing before it is carried out",
        (node("n1"), resized(asked=1, allocated=1, actual=3), pod("p", cpu=2)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "a shrink that is done frees room",
        (node("n1"), resized(asked=1, allocated=1, actual=1), pod("p", cpu=2)),
        {"p": "n1"},
    ),
    Case(
        "a growth that is put off counts",
        (node("n1"), resized(asked=3, allocated=1, actual=1, reason="Deferred"), pod("p", cpu=2)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "a growth that no node could take does not",
        (node("n1"), resized(asked=9, allocated=1, actual=1, reason="Infeasible"), pod("p", cpu=2)),
        {"p": "n1"},
    ),
    Case(
        "resources of the pod as a whole are resized likewise",
        (node("n1"), shrunk_as_a_whole(asked=1, allocated=3), pod("p", cpu=2)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "tolerations compare integers",
        (
            risky("low", "5"),
            risky("high", "90"),
            risky("text", "high"),
            tolerating("careful", "Lt", "10"),
            tolerating("bold", "Gt", "10"),
            tolerating("nobody", "Gt", "90"),
        ),
        {"careful": "low", "bold": "high"},
        {"nobody": "0/3 nodes are available: 3 node(s) had untolerated taint(s)."},
    ),
    Case(
        "features that a pod needs are declared",
        (declaring("able", FEATURE), node("plain"), pod("p", hostNetwork=True, hostUsers=False)),
        {"p": "able"},
    ),
    Case(
        "features that no node declares",
        (node("plain"), pod("p", hostNetwork=True, hostUsers=False)),
        {},
        {"p": NO_FEATURES},
    ),
    Case(
        "resources of the pod as a whole count for its containers'",
        (node("n1"), pod("p", cpu="100m", resources={"requests": {"cpu": 5}})),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "a sidecar counts beside the containers",
        (node("n1"), with_containers("p", init=[(2, True)], main=3)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "an init container counts before them",
        (node("n1"), with_containers("p", init=[(4, False)], main=3)),
        {"p": "n1"},
    ),
    Case(
        "an init container counts beside sidecars that began before",
        (node("n1"), with_containers("p", init=[(2, True), (3, False)], main=1)),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "matchLabelKeys of anti-affinity",
        (
            node("n1"),
            versioned("old", "1", phase="Running", nodeName="n1"),
            versioned("new", "2", affinity=apart("version")),
        ),
        {"new": "n1"},
    ),
    Case(
        "anti-affinity without them",
        (
            node("n1"),
            versioned("old", "1", phase="Running", nodeName="n1"),
            versioned("new", "2", affinity=apart()),
        ),
        {},
        {"new": "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."},
    ),
    Case(
        "matchLabelKeys of spread",
        (
            node("n1"),
            node("n2", cpu="10m"),
            versioned("old", "1", phase="Running", nodeName="n1"),
            versioned("new", "2", topologySpreadConstraints=evenly("version")),
        ),
        {"new": "n1"},
    ),
    Case(
        "spread without them",
        (
            node("n1"),
            node("n2", cpu="10m"),
            versioned("old", "1", phase="Running", nodeName="n1"),
            versioned("new", "2", topologySpreadConstraints=evenly()),
        ),
        {},
        {"new": "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread"},
    ),
    Case(
        "huge pages",
        (node("n1"), offering("n2", hugepages_2Mi="8Mi"), huge("fits", "8Mi"), huge("lacks", "10Mi")),
        {"fits": "n2"},
        {"lacks": "0/2 nodes are available: 2 Insufficient hugepages-2Mi."},
    ),
    Case(
        "extended resources of which no node has any",
        (node("n1"), asking("p", "example.com/gpu")),
        {},
        {"p": "0/1 nodes are available: 1 Insufficient example.com/gpu."},
    ),
    Case(
        "other schedulers' nominations count for less important pods",
        (node("n1"), *CLASSES, nominated(), pod("p", cpu=2, priorityClassName="low")),
        {},
        {"p": LACKING_CPU},
    ),
    Case(
        "and not for more important ones",
        (node("n1"), *CLASSES, nominated(), pod("p", cpu=2, priorityClassName="high")),
        {"p": "n1"},
    ),
    Case(
        "a gang that has no room is not placed in part",
        (node("n1"), group("v1beta1", 2), member("a", cpu=3), member("b", cpu=3)),
        {},
        dict.fromkeys(
            ("a", "b"), "gang shop/PodGroup/train needs 2 places at once: 0/1 nodes are available:"
        ),
    ),
    Case(
        "a gang with room",
        (node("n1"), node("n2"), group("v1beta1", 2), member("a", cpu=3), member("b", cpu=3)),
        {"a": "n1 n2", "b": "n1 n2"},
    ),
    Case(
        "a volume's node affinity, which may change",
        (
            node("n1"),
            node("n2"),
            storage.volume("v", to="shop/c", at=(HOST, ["n2"])),
            in_shop("c", volume="v"),
            pod("p", volumes=storage.using("c")),
        ),
        {"p": "n2"},
    ),
    Case(
        "storage capacity",
        (
            node("n1"),
            node("n2"),
            *POOL,
            AT_N1,
            in_shop("c", storage_class="pool", size="30Gi"),
            pod("p", volumes=storage.using("c")),
        ),
        {},
        {"p": "0/2 nodes are available: 2 node(s) did not have enough free storage."},
    ),
    Case(
        "disks without a claim",
        (
            node("n1"),
            disk("there", read_only=True, phase="Running", nodeName="n1"),
            disk("p", read_only=False),
        ),
        {},
        {"p": "0/1 nodes are available: 1 node(s) had no available disk."},
    ),
    Case(
        "disks that are only read",
        (
            node("n1"),
            disk("there", read_only=True, phase="Running", nodeName="n1"),
            disk("p", read_only=True),
        ),
        {"p": "n1"},
    ),
    Case(
        "default spread of a service's pods",
        (
            node("n1"),
            node("n2"),
            service(),
            versioned("old", "1", phase="Running", nodeName="n1"),
            versioned("new", "1"),
        ),
        {"new": "n2"},
    ),
    Case(
        "groups by the priority that they state",
        (
            node("n1"),
            group("v1beta1", 1, priority=1),
            stating("last", 9),
            member("a", cpu=3),
            pod("b", cpu=3, schedulingGroup={"podGroupName": "last"}),
        ),
        {"b": "n1"},
        {"a": "0/1 nodes are available: 1 Insufficient cpu."},
    ),
)

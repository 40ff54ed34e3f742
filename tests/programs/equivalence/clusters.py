"""Small random clusters: what the judge draws, cut down, and besides what its clusters leave out."""

from __future__ import annotations

import random
from collections.abc import Iterable
from zlib import crc32

from benchmarks.judge.random_cluster.generation import random_cluster
from benchmarks.judge.random_cluster.objects import NAMESPACES, Object, chance, make_object

MOST_NODES, MOST_RUNNING, MOST_WAITING = 8, 8, 16
NOW = 1_800_000_000.0
BEFORE = "2027-01-15T07:00:00Z"
"""An hour before ``NOW``."""

_GROUPED = "scheduling.x-k8s.io/pod-group"


def small_cluster(seed: int) -> list[Object]:
    """The objects of a cluster, of which some are missing that others name."""
    draw = random.Random(f"equivalence {seed}")
    drawn = random_cluster(seed)
    nodes = draw.sample(drawn.nodes, min(len(drawn.nodes), draw.randint(1, MOST_NODES)))
    names = {each["metadata"]["name"] for each in nodes}
    running = [each for each in drawn.running if each["spec"]["nodeName"] in names or chance(draw, 0.05)]
    waiting = draw.sample(drawn.waiting, min(len(drawn.waiting), draw.randint(1, MOST_WAITING)))
    pods = [*running[:MOST_RUNNING], *waiting]
    for each in pods:
        _vary(draw, each)
    scaffold = [
        each for each in drawn.scaffold if each["metadata"]["name"] not in names or chance(draw, 0.95)
    ]
    trees = random.Random(f"trees {seed}")
    for each in pods:
        if chance(trees, 0.2):
            each["spec"]["schedulingGroup"] = {"podGroupName": trees.choice(("lone", "one", "two", "three"))}
        elif chance(trees, 0.1):
            each["metadata"].setdefault("annotations", {})["pod-group-name"] = "kai"
            labels = {"kai.scheduler/subgroup-name": trees.choice("abc")}
            each["metadata"].setdefault("labels", {}).update(labels)
        elif chance(trees, 0.1):
            labels = {"grove.io/podgang": "grove", "grove.io/podclique": trees.choice("abc")}
            each["metadata"].setdefault("labels", {}).update(labels)
    volcano = random.Random(f"volcano {seed}")
    for each in pods:
        if chance(volcano, 0.1):
            labels = {"volcano.sh/task-spec": volcano.choice("ab"), "part": volcano.choice("012")}
            annotations = {"scheduling.k8s.io/group-name": "parts", **labels}
            each["metadata"].setdefault("labels", {}).update(labels)
            each["metadata"].setdefault("annotations", {}).update(annotations)
    around = [*_around(draw, nodes), *_trees(trees), *_tiers(volcano, nodes)]
    return [*_namespaces(draw), *nodes, *scaffold, *around, *pods]


def _namespaces(draw: random.Random) -> Iterable[Object]:
    for name, labels in NAMESPACES.items():
        if chance(draw, 0.9):
            made = make_object("Namespace", name)
            made["metadata"]["labels"] = labels
            yield made


def _vary(draw: random.Random, pod: Object) -> None:
    """Give a pod some of what most pods do not have."""
    metadata, spec = pod["metadata"], pod["spec"]
    runs = "nodeName" in spec
    pod["status"] = {"phase": "Running" if runs else "Pending"}
    if chance(draw, 0.5):
        metadata["creationTimestamp"] = BEFORE
    if chance(draw, 0.08):
        spec["priorityClassName"] = "unknown"
    if chance(draw, 0.1):
        spec["priorityClassName"] = "urgent"
    if chance(draw, 0.15):
        metadata.setdefault("labels", {})[_GROUPED] = draw.choice(("gang", "large", "missing"))
    else:
        form = crc32(f"{metadata['namespace']}/{metadata['name']}".encode()) % 40
        metadata.setdefault("annotations", {}).update(dict(enumerate(_OTHER_FORMS)).get(form, {}))
    if chance(draw, 0.4):
        kind, version = draw.choice(
            (("ReplicaSet", "apps/v1"), ("DaemonSet", "apps/v1"), ("Job", "batch/v1"))
        )
        owner = {"kind": kind, "apiVersion": version, "name": draw.choice("ab"), "controller": True}
        metadata["ownerReferences"] = [{**owner, "uid": f"{kind}-{metadata['namespace']}-{owner['name']}"}]
        if chance(draw, 0.2):
            metadata.setdefault("annotations", {})["firmament-gang-scheduling"] = "50"
    if chance(draw, 0.04):
        metadata["deletionTimestamp"] = BEFORE
    if chance(draw, 0.04):
        pod["status"] = {"phase": draw.choice(("Succeeded", "Failed"))}
    if not runs and chance(draw, 0.05):
        pod["status"]["nominatedNodeName"] = "n00"
    if not runs and chance(draw, 0.1):
        message = "0/3 nodes are available: 3 Insufficient cpu."
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        pod["status"]["conditions"] = [condition]


def _around(draw: random.Random, nodes: list[Object]) -> Iterable[Object]:
    """What stands around pods and nodes: groups, budgets, services, owners, measurements."""
    yield make_object("PriorityClass", "urgent", "scheduling.k8s.io/v1", value=5000)
    if chance(draw, 0.3):
        yield make_object("PriorityClass", "usual", "scheduling.k8s.io/v1", value=7, globalDefault=True)
    for space in NAMESPACES:
        for name, least in (("gang", 2), ("large", 40)):
            if chance(draw, 0.7):
                yield _in(
                    space,
                    make_object("PodGroup", name, "scheduling.x-k8s.io/v1alpha1", spec={"minMember": least}),
                )
        spec = {"minMember": 2, "minTaskMember": {"a": 1}, "minResources": {"cpu": 1}}
        yield _in(space, make_object("PodGroup", "v", "scheduling.volcano.sh/v1beta1", spec=spec))
        if chance(draw, 0.3):
            selector = {"matchLabels": {"app": draw.choice(("web", "db"))}}
            status = {"disruptionsAllowed": draw.choice((0, 1)), "observedGeneration": 1}
            budget = make_object(
                "PodDisruptionBudget", "b", "policy/v1", spec={"selector": selector}, status=status
            )
            budget["metadata"]["generation"] = 1
            yield _in(space, budget)
        if chance(draw, 0.3):
            yield _in(
                space, make_object("Service", "s", spec={"selector": {"app": draw.choice(("web", "cache"))}})
            )
        if chance(draw, 0.5):
            yield _in(space, _owner("DaemonSet", "a", {"template": {"metadata": {}, "spec": _NOWHERE}}))
        if chance(draw, 0.3):
            yield _in(space, _owner("ReplicaSet", "a", {"replicas": 0, "template": {"spec": _NOWHERE}}))
    for node in nodes:
        if chance(draw, 0.3):
            name = node["metadata"]["name"]
            usage = {"nodeUsage": {"resources": {"cpu": "1500m", "memory": "1Gi"}}}
            report = {"updateTime": BEFORE, "nodeMetric": usage}
            yield make_object("NodeMetric", name, "slo.koordinator.sh/v1alpha1", status=report)


def _trees(draw: random.Random) -> Iterable[Object]:
    """Groups of Kubernetes, of KAI and of Grove, most in trees, some missing; here and there one makes no sense."""
    shape = (
        *(("Composite", "root", ""), ("Composite", "middle", "root"), ("", "one", "root")),
        *(("", "two", "middle"), ("", "three", "middle"), ("", "lone", "")),
    )
    for space in NAMESPACES:
        members = [{"name": name, "minMember": draw.choice((0, 1, 2)), "minReplicas": 1} for name in "ab"]
        for kind, name, version, asked in (
            ("PodGroup", "kai", "scheduling.run.ai/v2alpha2", {"minMember": 2, "subGroups": members}),
            ("PodGang", "grove", "scheduler.grove.io/v1alpha1", {"podgroups": members}),
        ):
            if chance(draw, 0.8):
                yield _in(space, make_object(kind, name, version, spec=asked))
        for kind, name, parent in shape:
            count = draw.choice((0, 1, 1, 1, 1, 2, 2))
            policy = {"minGroupCount" if kind else "minCount": count}
            spec: Object = {"schedulingPolicy": {"gang": policy} if chance(draw, 0.95) else {"basic": {}}}
            if parent:
                spec["parentCompositePodGroupName"] = parent
            if chance(draw, 0.4):
                spec["schedulingConstraints"] = {"topology": [{"key": "topology.kubernetes.io/zone"}]}
            version = "scheduling.k8s.io/v1alpha3" if kind else "scheduling.k8s.io/v1alpha2"
            if chance(draw, 0.9):
                yield _in(space, make_object(f"{kind}PodGroup", name, version, spec=spec))


def _tiers(draw: random.Random, nodes: Iterable[Object]) -> Iterable[Object]:
    """HyperNodes of Volcano, and PodGroups with subgroups that are to stay in one of them."""
    exact: list[list[Object]] = [[], []]
    for node in nodes:
        draw.choice(exact).append({"exactMatch": {"name": node["metadata"]["name"]}})
    below = [{"exactMatch": {"name": f"rack{number}"}} for number in range(2)]
    for name, tier, kind, selectors in (
        ("rack0", 1, "Node", exact[0]),
        ("rack1", 1, "Node", exact[1]),
        ("zone", 2, "HyperNode", below),
    ):
        members = [{"type": kind, "selector": selector} for selector in selectors]
        if chance(draw, 0.8):
            spec = {"tier": tier, "members": members}
            yield make_object("HyperNode", name, "topology.volcano.sh/v1alpha1", spec=spec)
    for space in NAMESPACES:
        topology = {"mode": draw.choice(("hard", "hard", "soft")), "highestTierAllowed": draw.randint(0, 3)}
        policy = {"name": "p", "subGroupSize": draw.randint(1, 2), "matchLabelKeys": ["part"]}
        spec = {"minMember": draw.randint(0, 3), "subGroupPolicy": [{**policy, "networkTopology": topology}]}
        if chance(draw, 0.5):
            spec["networkTopology"] = {"highestTierAllowed": 2}
        if chance(draw, 0.8):
            yield _in(space, make_object("PodGroup", "parts", "scheduling.volcano.sh/v1beta1", spec=spec))


_GANG = "gang.scheduling.koordinator.sh/"
_OTHER_FORMS = (
    {f"{_GANG}name": "k", f"{_GANG}min-available": "2"},
    {f"{_GANG}name": "k", f"{_GANG}min-available": "many"},
    {"scheduling.k8s.io/group-name": "v", "volcano.sh/task-spec": "a"},
    {"scheduling.k8s.io/group-name": "v", "volcano.sh/task-spec": "b"},
    {"yunikorn.apache.org/task-group-name": "y"},
)
"""Annotations by which pods are in gangs of other schedulers."""

_NOWHERE = {"nodeSelector": {"there-is": "none"}, "containers": [{"name": "main", "image": "main"}]}


def _owner(kind: str, name: str, spec: Object) -> Object:
    return make_object(kind, name, "apps/v1", spec=spec)


def _in(namespace: str, made: Object) -> Object:
    uid = f"{made['kind']}-{namespace}-{made['metadata']['name']}"
    made["metadata"] |= {"namespace": namespace, "uid": uid}
    return made

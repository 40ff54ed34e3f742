"""Makes random pods: requests, ports, priorities, gates; many replicas of a few templates."""

from __future__ import annotations

import copy
import random

from benchmarks.judge.random_cluster.objects import (
    APPS,
    GPU,
    HOSTNAME,
    NAMESPACES,
    OURS,
    TIERS,
    Object,
    chance,
    make_object,
)
from benchmarks.judge.random_cluster.rules import node_rules, pod_rules

IMAGE = "registry.example/app:1"
OVERHEAD = {"cpu": "150m", "memory": "120Mi"}
PRIORITIES = {"lowest": 0, "low": 10, "middle": 100, "high": 1000}
"""Priority classes whose pods never preempt: priority decides the order only."""


def pod_scaffold() -> list[Object]:
    """Return the objects that pods refer to, except storage."""
    classes = [
        make_object("PriorityClass", name, "scheduling.k8s.io/v1", value=value, preemptionPolicy="Never")
        for name, value in PRIORITIES.items()
    ]
    sandboxed = make_object(
        "RuntimeClass", "sandboxed", "node.k8s.io/v1", handler="sandbox", overhead={"podFixed": OVERHEAD}
    )
    return [*classes, sandboxed]


def make_running_pods(draw: random.Random, nodes: list[Object]) -> list[Object]:
    """Return pods of other schedulers, up to half of a node; some of them repel other pods."""
    pods = []
    for node in nodes:
        cpu = int(node["status"]["allocatable"]["cpu"]) * 1000
        for index in range(draw.choice((0, 1, 1, 2))):
            app = draw.choice(APPS)
            spec = _spec(draw, cpu // draw.choice((4, 8)), plain=True)
            if chance(draw, 0.15):
                term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": draw.choice(APPS)}}}
                required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                spec["affinity"] = {"podAntiAffinity": required}
            spec |= {"nodeName": node["metadata"]["name"], "schedulerName": "elsewhere"}
            found = _pod(draw, f"old-{node['metadata']['name']}-{index}", app, spec)
            if chance(draw, 0.2) and spec["containers"][0]["resources"]["requests"]:
                found["status"] = _resizing(draw, cpu // 4)
            pods.append(found)
    return pods


def _resizing(draw: random.Random, cpu: int) -> Object:
    """Return the kubelet's status of a pod that is being resized in place, up or down."""
    resizable = {"cpu": f"{draw.choice((cpu // 2, cpu, 2 * cpu))}m", "memory": draw.choice(("64Mi", "2Gi"))}
    allocated = {**resizable, "cpu": f"{draw.choice((cpu // 2, cpu, 2 * cpu))}m"}
    main = {
        "name": "main",
        "image": IMAGE,
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "resources": {"requests": resizable},
        "allocatedResources": allocated,
    }
    reason = draw.choice(("", "Deferred", "Infeasible"))
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    return {"phase": "Running", "containerStatuses": [main], "conditions": [pending] if reason else []}


def make_waiting_pods(draw: random.Random, nodes: list[Object]) -> list[Object]:
    """Return 40 to 120 pods of 8 to 16 templates."""
    important = chance(draw, 0.4)
    pods = []
    for number in range(draw.randint(8, 16)):
        app = draw.choice(APPS)
        spec = _spec(draw, draw.choice((50, 200, 500, 1000, 1900, 3500)), plain=False)
        between = pod_rules(draw, app)
        spec |= node_rules(draw, nodes)
        spec["affinity"] = {**spec.get("affinity", {}), **between.pop("affinity", {})}
        spec |= {**between, "schedulerName": OURS}
        if important:
            spec["priorityClassName"] = draw.choice(tuple(PRIORITIES))
        if chance(draw, 0.04):
            spec["schedulingGates"] = [{"name": "example.com/quota"}]
        template = _pod(draw, f"{app}-{number}", app, spec)
        for index in range(draw.choice((1, 3, 5, 8, 12))):
            replica = copy.deepcopy(template)
            replica["metadata"]["name"] += f"-{index}"
            pods.append(replica)
    return pods


def _pod(draw: random.Random, name: str, app: str, spec: Object) -> Object:
    labels = {"app": app, "tier": draw.choice(TIERS), "version": draw.choice(("v1", "v2"))}
    metadata = {"name": name, "namespace": draw.choice(tuple(NAMESPACES)), "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _spec(draw: random.Random, cpu: int, *, plain: bool) -> Object:
    container: Object = {"name": "main", "image": IMAGE, "resources": {"requests": _requests(draw, cpu)}}
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if chance(draw, 0.12):
        container["ports"] = [_port(draw) for _ in range(draw.choice((1, 2)))]
        _drop_repeated(container["ports"])
    if plain:
        return spec
    if chance(draw, 0.1):
        container["resources"] = _add_extended(container["resources"], {GPU: str(draw.choice((1, 1, 2)))})
    if chance(draw, 0.08):
        rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
        container |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    if chance(draw, 0.1):
        container["resources"]["requests"]["ephemeral-storage"] = draw.choice(("1Gi", "20Gi"))
    if chance(draw, 0.1):
        spec["containers"].append({"name": "second", "image": IMAGE})
    if chance(draw, 0.2):
        spec["initContainers"] = [_init(draw, f"init-{index}") for index in range(draw.choice((1, 2)))]
    if chance(draw, 0.08):
        spec |= {"runtimeClassName": "sandboxed", "overhead": dict(OVERHEAD)}
    return spec


def _requests(draw: random.Random, cpu: int) -> Object:
    if chance(draw, 0.08):
        return {}
    return {"cpu": f"{cpu}m", "memory": f"{draw.choice((64, 256, 1024, 3000))}Mi"}


def _add_extended(resources: Object, extended: Object) -> Object:
    return {"requests": {**resources["requests"], **extended}, "limits": extended}


def _init(draw: random.Random, name: str) -> Object:
    requests = {"cpu": draw.choice(("100m", "700m", "2")), "memory": draw.choice(("50Mi", "2Gi"))}
    container: Object = {"name": name, "image": IMAGE, "resources": {"requests": requests}}
    if chance(draw, 0.4):
        container["restartPolicy"] = "Always"
    return container


def _port(draw: random.Random) -> Object:
    number = draw.choice((8080, 8081, 9090))
    port: Object = {"containerPort": number, "hostPort": number}
    if chance(draw, 0.4):
        port["hostIP"] = draw.choice(("0.0.0.0", "127.0.0.1", "10.1.2.3"))  # noqa: S104 - a value, not listened on
    if chance(draw, 0.3):
        port["protocol"] = draw.choice(("UDP", "SCTP"))
    return port


def _drop_repeated(ports: list[Object]) -> None:
    seen: set[tuple[str, int, str]] = set()
    for port in list(ports):
        key = (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP", ""))
        if key in seen:
            ports.remove(port)
        seen.add(key)

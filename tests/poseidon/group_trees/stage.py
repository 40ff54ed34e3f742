"""A cluster with a tree, topology groups and kubelets; solver and bridge as processes."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.controllers.kubelet import STOP_SECONDS, KubeletSimulation
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.support.cluster import pod
from tests.support.waiting import until

SHAPE = NodeShape("four", cpu="4", memory="16Gi")
CONFIG = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
costModels:
  - {name: topology, weight: 1}
"""


def tree_of(racks):
    return json.dumps({rack: {node: {} for node in nodes} for rack, nodes in racks.items()})


class Stage:
    """What a test does and sees; names of nodes are in ``nodes``, in order."""

    def __init__(self, s, nodes):
        self.scene = s
        self.nodes = nodes
        self.kubelets = KubeletSimulation(s.operations.store)
        self.now = 0.0
        self.maps = s.operations.registry.of_kind("v1", "ConfigMap")

    # --- what happens ----------------------------------------------------------------------------------------

    def map(self, name, label, /, **data):
        """Create a ConfigMap, or change what is in it."""
        existing = self.data(name)
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "labels": {label: ""}},
            "data": data,
        }
        if existing is None:
            self.scene.operations.create(self.maps, "default", body)
        else:
            self.scene.operations.update(self.maps, "default", name, {**body, "data": {**existing, **data}})

    def tree(self, racks):
        self.map("tree", "sakkara.topology", tree=tree_of(racks) if isinstance(racks, dict) else racks)

    def group(self, name, size, constraints=None, **more):
        rules = {"constraints": json.dumps(constraints)} if constraints is not None else {}
        self.map(name, "sakkara.group", name=name, size=str(size), **rules, **more)

    def pods(self, group, *indices, cpu="1", stop="0", **spec):
        for index in indices:
            made = pod(f"{group}-{index}", cpu=cpu, **spec)
            made["metadata"]["labels"] = {"sakkara.group.name": group}
            made["metadata"]["annotations"] = {STOP_SECONDS: stop}
            self.scene.operations.create(PODS, "default", made)

    def fill(self, **used):
        """Pods of somebody else, of so many cores: node (by its number in ``nodes``, as n0) = cores."""
        for name, cpu in used.items():
            made = pod(f"busy-{name}", cpu=str(cpu), nodeName=self.nodes[int(name[1:])])
            made["spec"]["schedulerName"] = "somebody"
            self.scene.operations.create(PODS, "default", made)

    def delete(self, *names):
        for name in names:
            self.scene.operations.delete(PODS, "default", name)

    # --- what is seen ----------------------------------------------------------------------------------------

    def data(self, name):
        found = {each["metadata"]["name"]: each for each in self.scene.listed(self.maps)}
        return found[name]["data"] if name in found else None

    def status(self, name):
        return (self.data(name) or {}).get("status", "")

    def message(self, name):
        return (self.data(name) or {}).get("message", "")

    def labels(self, prefix):
        """What is written on pods, by name: rank, status, retries."""
        keys = [f"sakkara.member.{each}" for each in ("rank", "status", "retries")]
        return {
            each["metadata"]["name"]: tuple(each["metadata"].get("labels", {}).get(key) for key in keys)
            for each in self.scene.listed(PODS)
            if each["metadata"]["name"].startswith(prefix)
        }

    def where(self, prefix):
        """Numbers of nodes by pod."""
        placed = self.scene.placed()
        return {
            name: self.nodes.index(node) for name, node in placed.items() if name.startswith(f"{prefix}-")
        }

    def used(self, prefix):
        """How many pods are on which node, by number."""
        found = list(self.where(prefix).values())
        return {number: found.count(number) for number in sorted(set(found))}

    def placement(self, name):
        """What is written as placement: pods by node, in racks, with numbers of nodes."""
        racks = json.loads(self.data(name)["placement"])["root"]
        return {
            rack: {self.nodes.index(node): sorted(pods) for node, pods in nodes.items()}
            for rack, nodes in racks.items()
        }

    def advance(self, seconds):
        """Let time pass for the kubelets."""
        self.now += seconds

    async def until(self, condition, what=""):
        """Wait until something holds, while the kubelets do what is due by now."""

        def holds():
            self.kubelets.advance(self.now)
            return condition()

        await until(holds, within=SECONDS, what=what)


@asynccontextmanager
async def stage(folder, racks=(2, 2), *, tree=True, own_solver=False):
    """Racks with so many nodes of four cores each."""
    config = folder / "config.yaml"
    config.write_text(CONFIG)
    async with scene(folder, ClusterOptions(graceful=True), config) as s:
        made = Stage(s, await s.nodes(sum(racks), [SHAPE]))
        if tree:
            named = iter(made.nodes)
            made.tree(
                {f"rack-{index}": [next(named) for _ in range(count)] for index, count in enumerate(racks)}
            )
        await s.start(own_solver=own_solver)
        yield made

"""Users of trees of groups, and the controller that replaces pods of some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.programs.simulation import workload
from tests.programs.simulation.actors import leaving
from tests.programs.simulation.api_server import COMPOSITES, LEAVES, NODES, PODS, Object, finished
from tests.programs.simulation.queued_users import QueuedUsers
from tests.programs.simulation.trees import Drawn, draw_tree, leaf_of
from tests.programs.simulation.users import Users


@dataclass
class TreeUsers(Users):
    """Users as others are, who create trees of groups as well.

    ``trees``: those whose pods a controller replaces, with how it makes a pod of one of the groups.
    """

    trees: list[tuple[Drawn, Callable[[str], Object]]] = field(default_factory=list)

    def list_kinds(self) -> tuple[Callable[[], None], ...]:
        """Return what they may do next."""
        return (*super().list_kinds(), self._tree, self._tree, self._tree)

    def _tree(self) -> None:
        random = self.queue.random
        drawn = draw_tree(random, self._name("tree"))
        asks, importance = workload.random_requests(random), random.choice((0, 0, 100))
        labels = {workload.TREE: drawn.name, **({"lasting": "yes"} if random.random() < 0.5 else {})}

        def make(leaf: str) -> Object:
            group = {"podGroupName": leaf}
            return workload.pod(
                self._name(f"{leaf}-p"), asks, priority=importance, labels=labels, schedulingGroup=group
            )

        for path, made in drawn.objects:
            self.queue.after(random.random() * 0.5, partial(self._create_group, path, made))
        for leaf, pods in drawn.pods.items():
            for _ in range(pods):
                self.queue.after(random.random() * 0.5, partial(self._create, make(leaf)))
        if random.random() < 0.6:
            self.queue.after(2 + random.random() * 4, partial(self._displace, drawn.name))
        if random.random() < 0.5:
            self.queue.after(1.0, partial(self.trees.append, (drawn, make)))

    def _displace(self, tree: str) -> None:
        """Create an important pod that takes nearly a whole node of a zone in which a tree runs."""
        there = [pod for pod in self.api.all(PODS) if workload.gang_of(pod) == tree]
        nodes = {node["metadata"]["name"]: node for node in self.api.all(NODES)}
        hosts = [nodes[host] for pod in there if (host := pod["spec"].get("nodeName")) in nodes]
        if hosts and self.active:
            host = self.queue.random.choice(hosts)
            zone = {workload.ZONE: host["metadata"]["labels"][workload.ZONE]}
            asks = {"cpu": f"{workload.allocatable(host)['cpu'] - 40}m", "memory": "16Mi"}
            self._create(workload.pod(self._name("vip"), asks, priority=1000, nodeSelector=zone))

    def _create_group(self, path: str, made: Object) -> None:
        self.api.create(path, made)

    def _fill_tree(self, drawn: Drawn, make: Callable[[str], Object]) -> None:
        present = Counter(
            leaf_of(pod) for pod in self.api.all(PODS) if not finished(pod) and not leaving(pod)
        )
        for leaf, pods in drawn.pods.items():
            for _ in range(pods - present[leaf]):
                self._create(make(leaf))

    def _reconcile(self) -> None:
        super()._reconcile()
        for drawn, make in self.trees:
            self._fill_tree(drawn, make)

    def _delete_something(self, ours: list[Object]) -> None:
        random = self.queue.random
        if self.trees and random.random() < 0.2:
            self._drop_tree(self.trees.pop(random.randrange(len(self.trees)))[0])
        else:
            super()._delete_something(ours)

    def _drop_tree(self, drawn: Drawn) -> None:
        """Delete a tree with all its pods, in any order."""
        self.queue.tell(f"user deletes {drawn.name}")
        for path, made in drawn.objects:
            found = self.api.find(path, workload.NAMESPACE, made["metadata"]["name"])
            if found is not None:
                self.api.remove(path, found)
        for pod in self.api.all(PODS):
            if workload.gang_of(pod) == drawn.name:
                self.api.delete_pod(pod)

    def drop_all(self) -> None:
        """Delete everything."""
        self.trees.clear()
        super().drop_all()
        for path in (COMPOSITES, LEAVES):
            for each in self.api.all(path):
                self.api.remove(path, each)


@dataclass
class QueuedTreeUsers(TreeUsers, QueuedUsers):
    """Users of queues who create trees of groups as well; the trees are in no queue."""

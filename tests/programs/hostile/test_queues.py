"""Hostile queues of every project, and pods and owners that name them: decent pods are placed all the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from poseidon.bridge.queues.queued_owners import read_scale
from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.api import collections, kinds
from poseidon.kube.api.decoding import MalformedObjectError, convert_object, decode_object
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.queues.options import SOURCES, QueueOptions
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_known_queues import queued
from tests.programs.hostile.objects import GROUPS, Mallory
from tests.support.effort import examples

DRAWN = 120


class Scene:
    """A bridge and a solver, with a decent queue, a pod in it, and one in none."""

    def __init__(self) -> None:
        self.state = BridgeState(
            BridgeConfiguration(queues=QueueOptions(source=SOURCES, admission="poseidon", fair_sharing=True))
        )
        self.scheduler = EmbeddedScheduler(load_configuration(None), lambda: 1_767_268_800.0)
        for kind, each in (
            (kinds.RESOURCE_FLAVOR, flavor("decent")),
            (kinds.CLUSTER_QUEUE, cluster_queue("decent", quotas("decent", cpu=4))),
            (kinds.LOCAL_QUEUE, local_queue("decent", "decent", "decent")),
        ):
            self.state.handlers[kind]([Change(f"decent-{kind.name}", convert_object(each, kind.struct))])
        self.state.nodes_changed([present(node("n1", cpu="64"))])

    def place(self) -> set[str]:
        """Add the decent pods, run a round, and return who is placed."""
        self.state.pods_changed(
            [present(queued("in", "decent", "decent")), present(pod("out", namespace="decent"))]
        )
        events = self.state.take_events()
        assert self.scheduler.list_refused(events) == []
        self.scheduler.apply(events)
        self.state.expire()
        self.state.take_actions()
        return {each.task for each in self.scheduler.run_round().deltas}

    def draw(self, mallory: Mallory, random: Random) -> None:
        """Have hostile objects come, change and go."""
        owners = tuple(collections.QUEUED_OWNERS.items())
        for _ in range(DRAWN):
            kind: Any = random.choice((*kinds.QUEUES, "owner", kinds.POD))
            struct = QueuedOwner if kind == "owner" else kind.struct
            uid, raw = mallory.raw(struct, random.choice(GROUPS))
            try:
                found = decode_object(raw, struct)
            except MalformedObjectError:
                continue
            gone = random.random() < 0.1
            if isinstance(found, QueuedOwner):
                name, resource = random.choice(owners)
                version = resource.path.removeprefix("/apis/").rpartition("/")[0]
                change = Change(uid, None if gone else read_scale(name, version, found))
                self.state.owner_taker(name)([change])
            elif isinstance(found, Pod):
                self.state.pods_changed([Change(uid, None if gone else found)])
            else:
                self.state.handlers[kind]([Change(uid, None if gone else found)])
            if random.random() < 0.2:
                self._tell()

    def _tell(self) -> None:
        events = self.state.take_events()
        assert self.scheduler.list_refused(events) == []
        self.scheduler.apply(events)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_hostile_queues_hold_up_nobody(seed):
    random = Random(seed)
    scene = Scene()
    scene.draw(Mallory(random), random)
    placed = scene.place()
    assert {"pod-in", "pod-out"} <= placed
    assert [each for each in scene.state.quarantine if each[0] == "queues"] == []

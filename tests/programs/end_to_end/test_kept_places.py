"""Places that are kept for moved pods, with both processes: whatever a tenant does, they end, others have theirs.

The bridge's clock is moved by the tests; ten minutes go by at once.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from itertools import count

from poseidon.kube.api.metadata import format_time
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.support.clock_ahead import MovedClock
from tests.support.cluster import pod
from tests.support.waiting import until

CONFIGURATION = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
moves: {keepPlaces: true, most: %d}
"""
TURN = 240.0
"""Seconds of the bridge's clock between two updates of the tenant."""
PAUSE = 0.2


class Stage:
    """A node on which tenants' pods run, and empty nodes that may be kept for them."""

    def __init__(self, s, clock):
        self.scene, self.clock = s, clock
        self._numbers = count()

    def run(self, name, namespace, owner="web", **announced):
        """Let a pod run on the first node; another scheduler has put it there."""
        made = pod(name, namespace=namespace, nodeName="busy-00000", terminationGracePeriodSeconds=0)
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        ]
        made["metadata"]["annotations"] = announced
        made["status"] = {"phase": "Running"}
        create_object(self.scene.operations, made)

    def move(self, node, seconds=600.0):
        """The annotations of a pod that is about to be moved."""
        until_then = format_time(self.clock.now() + seconds)
        return {"firmament.io/move-to": node, "firmament.io/move-until": until_then}

    def patch(self, name, namespace, **parts):
        self.scene.operations.patch(PODS, namespace, name, MERGE_PATCH, parts)

    def annotate(self, name, namespace, annotations):
        self.patch(name, namespace, metadata={"annotations": annotations})

    async def rounds_go_on(self):
        """Wait until a pod that comes now is bound: what came before has been looked at."""
        name = f"sees-{next(self._numbers)}"
        await self.scene.pods([name], cpu="10m", nodeSelector={"kubernetes.io/hostname": "busy-00000"})
        await until(lambda: name in self.scene.placed(), within=SECONDS)


@asynccontextmanager
async def stage(folder, namespaces, *, nodes, most=100, busy="16"):
    """A busy node, as many free ones, and namespaces of tenants."""
    config = folder / "configuration.yaml"
    config.write_text(CONFIGURATION % most)
    clock = MovedClock(folder / "ahead", "poseidon")
    async with scene(folder, config=config, launch=clock.launch) as s:
        for name in namespaces:
            create_object(s.operations, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await s.nodes(1, [NodeShape("busy", cpu=busy, memory="16Gi")], prefix="busy")
        await s.nodes(nodes, [NodeShape("free", cpu="4", memory="16Gi")], prefix="free")
        await s.start()
        yield Stage(s, clock)


def _labels(on, tenant, node, turn):
    on.patch("mine", tenant, metadata={"labels": {"turn": str(turn)}})


def _later_end(on, tenant, node, turn):
    on.annotate("mine", tenant, on.move(node))


def _other_annotations(on, tenant, node, turn):
    on.annotate("mine", tenant, {"turn": str(turn)})


def _status(on, tenant, node, turn):
    on.patch("mine", tenant, status={"message": f"turn {turn}"})


def _taken_back(on, tenant, node, turn):
    on.annotate("mine", tenant, {"firmament.io/move-to": None})
    on.annotate("mine", tenant, on.move(node))


def _created_anew(on, tenant, node, turn):
    on.scene.operations.delete(PODS, tenant, "mine" if turn == 1 else f"mine-{turn - 1}")
    on.run(f"mine-{turn}", tenant, **on.move(node))


def _created_anew_by_one_name(on, tenant, node, turn):
    on.scene.operations.delete(PODS, tenant, "mine")
    on.run("mine", tenant, **on.move(node))


def _of_new_owners(on, tenant, node, turn):
    on.scene.operations.delete(PODS, tenant, "mine")
    on.run("mine", tenant, f"web-{turn}", **on.move(node))


def _scaled(on, tenant, node, turn):
    on.run(f"mine-{turn}", tenant, **on.move(node))


UPDATES = (
    _labels,
    _later_end,
    _other_annotations,
    _status,
    _taken_back,
    _created_anew,
    _created_anew_by_one_name,
    _of_new_owners,
    _scaled,
)
"""What tenants do with their pods, so that a place may last: each in a namespace, and for a node, of its own."""


async def test_places_end_whatever_tenants_do_with_their_pods(tmp_path):
    tenants = {each.__name__.strip("_").replace("_", "-"): each for each in UPDATES}
    nodes = {tenant: f"free-{at:05d}" for at, tenant in enumerate(tenants)}
    async with stage(tmp_path, tenants, nodes=len(tenants)) as on:
        for tenant, node in nodes.items():
            on.run("mine", tenant, **on.move(node))
        await on.rounds_go_on()
        for tenant, node in nodes.items():
            await on.scene.pods([tenant], cpu="4", nodeSelector={"kubernetes.io/hostname": node})
        await on.rounds_go_on()
        assert not tenants.keys() & on.scene.placed().keys(), "every free node is kept"
        turns = count(1)

        def update(tenants):
            turn = next(turns)
            for tenant, do in tenants.items():
                do(on, tenant, nodes[tenant], turn)

        while on.clock.ahead < 2.5 * TURN:
            on.clock.move(TURN)
            update(tenants)
            await on.rounds_go_on()
        updated = time.monotonic()

        def all_are_placed():
            nonlocal updated
            if time.monotonic() - updated > PAUSE:
                updated = time.monotonic()
                update(tenants)
            return tenants.keys() <= on.scene.placed().keys()

        await until(all_are_placed, within=SECONDS, what="all nodes are free for others again")
        on.scene.check_sound()


async def test_a_namespace_has_its_share_beside_one_that_takes_all_places(tmp_path):
    async with stage(tmp_path, ("noisy", "quiet"), nodes=5, most=4, busy="4") as on:
        for index in range(8):
            on.run(f"mine-{index}", "noisy", **on.move(f"free-{index % 4:05d}"))
        await on.rounds_go_on()
        on.run("moved", "quiet", **on.move("free-00004"))
        await on.rounds_go_on()
        await on.scene.pods(["first", "second"], cpu="4")
        await until(lambda: {"first", "second"} & on.scene.placed().keys(), within=SECONDS)
        await on.rounds_go_on()
        taken = [on.scene.placed()[name] for name in ("first", "second") if name in on.scene.placed()]
        assert len(taken) == 1, "one of the four places of the noisy namespace was given up"
        assert taken != ["free-00004"], "the quiet one has its place"
        on.scene.check_sound()

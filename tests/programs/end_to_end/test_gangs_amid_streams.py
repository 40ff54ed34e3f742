"""Gangs of 16 beside a stream of small pods that end and come: room is kept for them as a whole, in both namespaces.

The times that rounds count over are shortened; with the defaults the same takes a minute, as single large pods do.
"""

from __future__ import annotations

import time
from itertools import count

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.programs.end_to_end.test_gangs import CRD, LABEL
from tests.support.cluster import pod
from tests.support.waiting import until

NODES, SLOTS, MEMBERS = 6, 4, 16
ROUNDS, RESERVE_AFTER = 4, 4.0
CONFIGURATION = (
    "{apiVersion: firmament.io/v1alpha1, kind: SchedulerConfiguration, "
    f"round: {{reserveAfterRounds: {ROUNDS}, reserveAfter: {RESERVE_AFTER}}}}}"
)
EVERY = 0.1
"""Seconds after which the next small pod ends."""
NAMESPACES = ("first", "second")


class Stream:
    """Small pods, more than there is room for, that end one by one while as many come."""

    def __init__(self, s):
        self.scene = s
        self._numbers = count()
        self._next = 0.0
        self.ended = 0

    def come(self, pods):
        for _ in range(pods):
            small = pod(f"small-{next(self._numbers):05d}", cpu="1", restartPolicy="Never")
            create_object(self.scene.operations, small)

    def turn(self):
        """End the one that has run longest, and let another one come, every so often: rounds come in between."""
        now = time.monotonic()
        running = min((name for name in self.scene.placed() if name.startswith("small")), default="")
        if running and now >= self._next:
            self._next = now + EVERY
            self.scene.operations.delete(PODS, "default", running)
            self.ended += 1
            self.come(1)


def create_gang(operations, namespace):
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"minMember": MEMBERS},
    }
    create_object(operations, group)
    for name in names(f"{namespace}-g", MEMBERS):
        member = pod(name, namespace=namespace, cpu="1", restartPolicy="Never")
        member["metadata"]["labels"] = {LABEL: "train"}
        create_object(operations, member)


async def test_gangs_of_both_namespaces_get_their_place(tmp_path):
    config = tmp_path / "configuration.yaml"
    config.write_text(CONFIGURATION)
    async with scene(tmp_path, config=config) as s:
        create_object(s.operations, CRD)
        for name in NAMESPACES:
            create_object(s.operations, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await s.nodes(NODES, [NodeShape("four", cpu=str(SLOTS), memory="16Gi")])
        stream = Stream(s)
        stream.come(2 * NODES * SLOTS)
        await s.start()
        await s.until_bound(NODES * SLOTS)
        for name in NAMESPACES:
            create_gang(s.operations, name)

        def placed(namespace):
            return [name for name in s.placed() if name.startswith(f"{namespace}-g")]

        def is_whole(namespace):
            stream.turn()
            return len(placed(namespace)) == MEMBERS

        waiting = [*NAMESPACES]
        while waiting:
            await until(lambda: any(map(is_whole, waiting)), within=3 * SECONDS)
            (whole,) = [name for name in waiting if placed(name)]
            waiting.remove(whole)
            for name in placed(whole):  # it ends, and its place goes to the stream and to the other
                s.operations.delete(PODS, whole, name)
        assert stream.ended > NODES * SLOTS, "small pods ran meanwhile"
        s.check_sound()

"""Gangs of 16 beside streams of small pods that end and come: room is kept for them as a whole, in each namespace.

The times that rounds count over are shortened; with the defaults the same takes a minute, as single large pods do.
"""

from __future__ import annotations

import time
from collections import Counter
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
"""Seconds after which the next pod ends."""
STREAMS = ("stream-a", "stream-b", "first")
"""Namespaces of small pods; in the last there are gangs, too."""
GANGS = ("first.one", "first.two", "second.one")
MOST_ENDED = 2 * (NODES * SLOTS + int((RESERVE_AFTER + RESERVE_AFTER / ROUNDS) / EVERY))
"""Pods that end at most before a gang is placed whose turn it is, twice the bound that is stated: rounds are counted
for so long, and then all pods that run may have to end.
"""


class Stream:
    """Small pods, more than there is room for, that end one by one while as many come.

    ``started`` says in which order pods, also those of gangs, got their nodes.
    """

    def __init__(self, s):
        self.scene = s
        self._numbers = count()
        self._next = 0.0
        self.started: dict[str, int] = {}
        self.ended = 0

    def come(self, pods):
        for _ in range(pods):
            number = next(self._numbers)
            namespace = STREAMS[number % len(STREAMS)]
            small = pod(f"{namespace}.{number:05d}", namespace=namespace, cpu="1", restartPolicy="Never")
            create_object(self.scene.operations, small)

    def turn(self):
        """End the one that has run longest, and let another one come, every so often: rounds come in between.

        Pods of gangs end in their turn as well, so that room for another gang never comes at once.
        """
        running = self.scene.placed()
        for name in running:
            self.started.setdefault(name, len(self.started))
        now = time.monotonic()
        if running and now >= self._next:
            self._next = now + EVERY
            oldest = min(running, key=lambda name: self.started[name])
            self.scene.operations.delete(PODS, oldest.partition(".")[0], oldest)
            self.ended += 1
            self.come(1)


def create_gang(operations, namespace, name):
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": MEMBERS},
    }
    create_object(operations, group)
    for each in names(f"{namespace}.{name}", MEMBERS):
        member = pod(each, namespace=namespace, cpu="1", restartPolicy="Never")
        member["metadata"]["labels"] = {LABEL: name}
        create_object(operations, member)


async def test_gangs_get_their_places_in_time_and_namespaces_take_turns(tmp_path):
    config = tmp_path / "configuration.yaml"
    config.write_text(CONFIGURATION)
    async with scene(tmp_path, config=config) as s:
        create_object(s.operations, CRD)
        for name in (*STREAMS, "second"):
            create_object(s.operations, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await s.nodes(NODES, [NodeShape("four", cpu=str(SLOTS), memory="16Gi")])
        stream = Stream(s)
        stream.come(2 * NODES * SLOTS)
        await s.start()
        await s.until_bound(NODES * SLOTS)
        for name in GANGS:
            create_gang(s.operations, *name.split("."))

        whole: list[str] = []

        def one_more_is_whole():
            stream.turn()
            gangs = Counter(name.rpartition("-")[0] for name in stream.started)
            found = [name for name in GANGS if gangs[name] == MEMBERS and name not in whole]
            whole.extend(found)
            return found

        for _ in range(2):
            ended = stream.ended
            await until(one_more_is_whole, within=3 * SECONDS)
            assert stream.ended - ended <= MOST_ENDED
        # Small pods of the namespace ``first`` start meanwhile: they may, or may not, have used up its turn.
        assert sorted(whole) == ["first.one", "second.one"], (
            "the second gang of a namespace waits for that of another"
        )
        assert stream.ended > NODES * SLOTS, "small pods ran meanwhile"
        s.check_sound()

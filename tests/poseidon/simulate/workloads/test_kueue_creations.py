"""When Kueue's generator creates its objects, beside a slow clock that sends one request after another."""

from __future__ import annotations

import random
from typing import Any

import pytest

from poseidon.simulate.scenario.document import CreationLimit
from poseidon.simulate.workloads.kueue_creations import time_creations
from tests.support.effort import examples

TICK = 0.125
"""Seconds of a tick of the slow clock: binary numbers hold its multiples exactly."""


def limit(per_second: float, burst: int, latency: float) -> CreationLimit:
    return CreationLimit(per_second=per_second, burst=burst, latency=latency)


def some_set(count: int, interval: int, classes: int = 1) -> dict[str, Any]:
    return {"count": count, "creationIntervalMs": interval, "workloads": [{}] * classes}


def tick_through(queues: list[list[dict[str, Any]]], nodes: int, ticks: int, latency: int) -> list[list[int]]:
    """Return the ticks at which the workloads of each set are created, with a burst of one and a request every
    ``ticks`` ticks for each kind.

    Each client is a list of (kind, pause before the request); it goes on when its last request is answered.
    """
    first = [*(["Node"] * 5 * nodes), *(["Topology"] if nodes else []), "ResourceFlavor"]
    now, sent_last = 0, dict[str, int]()
    for kind in first:
        while now < sent_last.get(kind, -ticks) + ticks:
            now += 1
        sent_last[kind] = now
        now += latency
    clients = [(queue, ["ClusterQueue", "Namespace", "LocalQueue"], now) for queue in range(len(queues))]
    created: list[list[list[int]]] = [[[] for _ in sets] for sets in queues]
    working: list[tuple[int, int, int]] = []  # asks at, queue, set
    while clients or working:
        for place, (queue, left, free_at) in enumerate([*clients]):
            if left and free_at <= now and now >= sent_last.get(left[0], -ticks) + ticks:
                sent_last[left[0]] = now
                clients[place] = (queue, left[1:], now + latency)
        for queue, left, free_at in [*clients]:
            if not left:
                clients.remove((queue, left, free_at))
                working += [
                    (free_at + each["creationIntervalMs"] // 125, queue, place)
                    for place, each in enumerate(queues[queue])
                ]
        if working and now >= sent_last.get("Workload", -ticks) + ticks:
            asks, queue, place = min(working)
            if asks <= now:
                working.remove((asks, queue, place))
                sent_last["Workload"] = now
                created[queue][place].append(now + latency)
                each = queues[queue][place]
                if len(created[queue][place]) < each["count"]:
                    working.append((now + latency + each["creationIntervalMs"] // 125, queue, place))
        now += 1
    return [times for queue in created for times in queue]


def test_creations_are_those_of_a_clock_that_ticks() -> None:
    for seed in range(examples(100)):
        draw = random.Random(seed)
        queues = [
            [some_set(draw.randint(1, 4), 125 * draw.randint(1, 9)) for _ in range(draw.randint(1, 3))]
            for _ in range(draw.randint(1, 4))
        ]
        nodes, ticks, latency = draw.randint(0, 3), draw.choice((1, 2, 4)), draw.randint(1, 7)
        found = time_creations(queues, nodes, limit(1 / (ticks * TICK), 1, latency * TICK))
        expected = tick_through(queues, nodes, ticks, latency)
        for mine, theirs in zip(found, expected, strict=True):
            assert mine == [tick * TICK for tick in theirs], seed


def test_each_kind_has_a_limit_of_its_own() -> None:
    """Queues need no turn behind nodes: a burst of five nodes' requests leaves that of the queues whole."""
    (times,) = time_creations([[some_set(1, 0)]], 1, limit(1.0, 5, 0.0))
    assert times == pytest.approx([0.0])
    (later,) = time_creations([[some_set(1, 0)]], 2, limit(1.0, 5, 0.0))
    assert later == pytest.approx([5.0]), "ten requests for nodes, five of them at once"


def test_without_a_limit_all_is_there_at_once() -> None:
    assert time_creations([[some_set(2, 100)]], 640, None) == [pytest.approx([0.1, 0.2])]


def test_a_set_creates_each_of_its_classes() -> None:
    (times,) = time_creations([[some_set(2, 10, classes=3)]], 0, limit(1000.0, 10, 0.0))
    assert times == pytest.approx([0.01 * number for number in range(1, 7)])
    assert time_creations([[some_set(0, 10)], []], 0, limit(1000.0, 10, 0.0)) == [[]]

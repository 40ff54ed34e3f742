"""Namespaces whose objects take long to handle wait for others; alone, they do not."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.environment import Environment
from poseidon.kube.watch.delivery import Delivery
from poseidon.kube.watch.namespace_turns import MOST_BYTES, PAUSE, NamespaceTurns
from tests.support.effort import examples

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


@dataclass
class Desk:
    """Takes changes, each for the seconds that its namespace costs, on a clock of its own."""

    costs: dict[str, float]
    now: float = 0.0
    done: list[tuple[float, str, str]] = field(default_factory=list)

    def take(self, changes):
        for change in changes:
            namespace = "" if change.object is None else change.object.metadata.namespace
            self.now += self.costs.get(namespace, 0.0)
            version = "" if change.object is None else change.object.metadata.resource_version
            self.done.append((self.now, change.uid, version))

    def clock(self):
        return self.now

    def turns(self):
        return NamespaceTurns(self.take, self.clock)

    def wait_and_hand_on(self, turns):
        """Wait until something may be handed on, and have that done."""
        pause = turns.next_in()
        assert pause is not None
        self.now += pause
        turns.hand_on()


def change(namespace, number, version=1):
    name = f"{namespace}-{number}"
    metadata = ObjectMeta(name=name, namespace=namespace, uid=name, resource_version=str(version))
    return Change(name, Pod(metadata=metadata))


def burst(namespace, count, first=0):
    return [change(namespace, first + number) for number in range(count)]


def test_ordinary_objects_overtake_those_of_a_namespace_that_takes_long():
    desk = Desk({"heavy": 0.02, "plain": 0.0001})
    turns = desk.turns()
    turns.take(burst("heavy", 100))
    begun = desk.now
    turns.take([*burst("heavy", 100, 100), *burst("plain", 60)])
    plain = [at for at, uid, _ in desk.done if uid.startswith("plain")]
    assert len(plain) == 60
    assert plain[-1] - begun < 0.02  # not behind a single heavy one
    assert len(turns) > 190


def test_beside_others_it_works_a_third_of_the_time_and_alone_all_of_it():
    desk = Desk({"heavy": 0.01, "plain": 0.0001})
    turns = desk.turns()
    turns.take(burst("heavy", 400))
    begun, number = desk.now, 0
    while desk.now < begun + 2.0:  # somebody is served all the time
        number += 1
        turns.take([change("plain", number)])
        if (pause := turns.next_in()) == 0.0:
            turns.hand_on()
        else:
            desk.now += min(pause, 0.005)
    heavy = sum(uid.startswith("heavy") for at, uid, _ in desk.done if at > begun)
    assert 0.2 < heavy * 0.01 / 2.0 < 1 / (1 + PAUSE) + 0.05
    desk.now += 1.0
    turns.hand_on()
    while len(turns):
        assert turns.next_in() == 0.0
        turns.hand_on()


def test_a_namespace_that_sends_one_costly_object_after_another_is_known_for_it():
    desk = Desk({"heavy": 0.05, "plain": 0.0001})
    turns = desk.turns()
    for number in range(3):
        desk.take([change("heavy", number)])
        turns.charge(change("heavy", number), 0.05)
    turns.take([change("plain", 0)])
    turns.take([change("heavy", 3)])
    turns.take([change("plain", 1), change("heavy", 4)])
    assert [uid for _, uid, _ in desk.done[3:]] == ["plain-0", "heavy-3", "plain-1"]
    assert turns.next_in() > 0.0
    desk.wait_and_hand_on(turns)
    assert desk.done[-1][1] == "heavy-4"


def test_what_waits_is_bounded_in_bytes():
    desk = Desk({"heavy": 0.02})
    turns = desk.turns()
    for number in range(100):
        turns.take([change("heavy", number)], MOST_BYTES // 10)
        turns.take([change("plain", number)])
        assert len(turns) <= 11


def test_long_work_is_forgotten():
    desk = Desk({"heavy": 0.1})
    turns = desk.turns()
    turns.take(burst("heavy", 3))
    while len(turns):
        desk.wait_and_hand_on(turns)
    assert not turns.is_idle
    desk.now += 10.0
    assert turns.is_idle


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 3), st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=8)),
            st.floats(0.0, 0.3),
        ),
        max_size=30,
    ),
    st.lists(st.sampled_from([0.0, 0.0005, 0.006, 0.03]), min_size=4, max_size=4),
)
def test_every_object_ends_as_it_was_last_seen_and_in_order(steps, costs):
    desk = Desk({f"n{number}": cost for number, cost in enumerate(costs)})
    turns = desk.turns()
    last: dict[str, str] = {}
    version = 0
    for step in steps:
        if isinstance(step, float):
            desk.now += step
            turns.hand_on()
            continue
        namespace, objects = step
        batch = []
        for number, present in objects:
            version += 1
            uid = f"n{namespace}-{number}"
            batch.append(change(f"n{namespace}", number, version) if present else Change(uid, None))
            last[uid] = str(version) if present else ""
        turns.take(batch, 1000)
    while turns.next_in() is not None:
        desk.now += turns.next_in()
        turns.hand_on()
    assert len(turns) == 0
    assert turns.next_in() is None
    shown: dict[str, str] = {}
    for _, uid, seen in desk.done:
        if seen and shown.get(uid):
            assert int(seen) > int(shown[uid])
        shown[uid] = seen
    assert shown == last


async def test_turns_may_be_over_when_a_pause_ends():
    """All was handed on, and forgotten, before the event loop came to whoever slept meanwhile."""
    desk = Desk({"heavy": 0.02, "plain": 0.0001})
    slept = asyncio.Event()

    def count(name):
        return sum(uid.startswith(name) for _, uid, _ in desk.done)

    async def sleep(_):
        number = 100
        while not slept.is_set() and count("heavy") < 8:
            number, desk.now = number + 1, desk.now + 1.0
            delivery.deliver([change("plain", number)])
        for number in (1000, 1001):  # the first hands on the rest
            desk.now += 100.0
            delivery.deliver([change("plain", number)])
        slept.set()

    environment = Environment(cast("Transport", None), clock=desk.clock, sleep=sleep)
    delivery = Delivery(environment, "pods", desk.take, None, in_turn=True)
    delivery.mark_synced()
    catching_up = asyncio.create_task(delivery.catch_up())
    delivery.deliver([*burst("heavy", 8), *burst("plain", 8)])
    assert count("heavy") < 8
    await asyncio.wait({asyncio.create_task(slept.wait()), catching_up}, return_when=asyncio.FIRST_COMPLETED)
    assert not catching_up.done(), catching_up.exception()
    catching_up.cancel()
    with suppress(asyncio.CancelledError):
        await catching_up

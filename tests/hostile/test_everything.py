"""Whatever objects come: nothing raises, nothing that was sent is refused, and decent pods fare as if alone.

``EFFORT=15`` draws some 20,000 objects instead of a few hundred; ``EXPLORE=1`` draws others each time.
"""

from __future__ import annotations

import json
import os
from random import Random, SystemRandom

import pytest

from poseidon.kube.api import collections as feeds
from poseidon.kube.api.core import Node, Pod
from tests.hostile.house import House
from tests.hostile.objects import Mallory, fields
from tests.support.effort import examples

OBJECTS = examples(1_300)
SEED = SystemRandom().randrange(2**32) if "EXPLORE" in os.environ else 1
AT_A_TIME = 40
STAY = 120
"""So many hostile objects are there at most; a cluster's quota would say so too."""


def test_decent_pods_do_not_notice(tmp_path):
    random = Random(SEED)
    house, mallory = House(tmp_path), Mallory(random)
    house.settle_in()
    kinds = sorted(house.reflectors, key=lambda kind: kind.__name__)
    present: list[tuple[type, str, str]] = []
    drawn = 0
    while drawn < OBJECTS:
        for _ in range(AT_A_TIME):
            drawn += 1
            kind = random.choice((Pod, Pod, Pod, Pod, Pod, *kinds))
            old = [each for each in present if each[0] is kind]
            if old and random.random() < 0.3:
                _, name, uid = random.choice(old)
                house.watch(kind, ("MODIFIED", mallory.raw(kind, name, uid)[1]))
                continue
            name = f"mallory-node-{random.randint(0, 5)}" if kind is Node else f"mallory-{drawn % 50}"
            uid, raw = mallory.raw(kind, name)
            house.watch(kind, ("ADDED", raw))
            present.append((kind, name, uid))
        while len(present) > STAY:
            kind, name, uid = present.pop(random.randrange(len(present)))
            house.watch(kind, ("DELETED", mallory.raw(kind, name, uid, spoil=False)[1]))
        for uid in [*house.pods][: max(0, len(house.pods) - 8)]:
            house.delete(uid)
        house.create(f"decent-{drawn}", labels={"app": random.choice("ab")})
        if random.random() < 0.1:
            house.start_anew()
        house.turn(seconds=random.choice((1.0, 30.0, 100.0)))
        assert not house.complaints(), f"after {drawn} objects of seed {SEED}"
        assert not [*house.quarantine], f"after {drawn} objects of seed {SEED}"
    for kind, name, uid in present:
        house.watch(kind, ("DELETED", mallory.raw(kind, name, uid, spoil=False)[1]))
    house.turn()
    assert not house.complaints()
    assert house.placed > drawn / 200, "some have to be placed, so that rounds see them"
    assert house.rejected() < OBJECTS / 2, "most of what is drawn has to be read"
    assert house.state.pod_count == len(house.pods)
    assert not [*house.state.gangs.groups], "nothing is kept of what is gone"
    assert not len(house.state.custom_records)
    assert not len(house.quarantine)


def test_a_list_is_read_whatever_is_in_it(tmp_path):
    random = Random(SEED)
    house, mallory = House(tmp_path), Mallory(random)
    house.settle_in()
    for kind in house.reflectors:
        if kind not in (Pod, Node):
            house.relist(kind, *(mallory.raw(kind, spoil=False)[1] for _ in range(20)))
    for index in range(3):
        house.create(f"decent-{index}")
    decent = [json.dumps(each).encode() for each in house.pods.values()]
    for _ in range(2):
        spoiled = [mallory.raw(Pod, spoil=index % 2 == 0)[1] for index in range(60)]
        readable = [each for each in spoiled if not each.endswith((b"NaN}", b"{}"))]
        house.relist(Pod, *readable[:30], *decent, *readable[30:])
        house.turn()
        decent = [json.dumps(each).encode() for each in house.pods.values()]
        assert not house.complaints()
    assert not [*house.quarantine]
    house.relist(Pod, *decent)
    house.turn()
    assert house.state.pod_count == len(house.pods)


@pytest.mark.parametrize("kind", [Pod, feeds.POD_GROUPS.kind, Node], ids=lambda kind: kind.__name__)
def test_mallory_draws_every_field(kind):
    """The generator would otherwise pass by what is added to a struct, or by what it never draws."""
    mallory = Mallory(Random(1))
    drawn = b"".join(mallory.raw(kind)[1] for _ in range(300))
    for name, _ in fields(kind):
        assert f'"{name}"'.encode() in drawn, name

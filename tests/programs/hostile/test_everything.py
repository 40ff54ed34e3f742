"""Whatever objects come: nothing raises, nothing that was sent is refused, and decent pods fare as if alone.

``EFFORT=15`` draws some 20,000 objects instead of a few hundred; ``EXPLORE=1`` draws others each time.
"""

from __future__ import annotations

import json
import os
from random import Random, SystemRandom

import pytest

from poseidon.kube.api import collections as feeds
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from tests.programs.hostile import runs
from tests.programs.hostile.house import House
from tests.programs.hostile.objects import Mallory, fields
from tests.programs.hostile.timing import Timing
from tests.support.effort import examples

OBJECTS = examples(1_300)
SEED = SystemRandom().randrange(2**32) if "EXPLORE" in os.environ else 3


def test_decent_pods_do_not_notice(tmp_path):
    runs.objects(tmp_path, SEED, OBJECTS, Timing())


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
    assert len(house.state.tasks) == len(house.pods)


@pytest.mark.parametrize("kind", [Pod, feeds.POD_GROUPS.kind, Node], ids=lambda kind: kind.__name__)
def test_mallory_draws_every_field(kind):
    """The generator would otherwise pass by what is added to a struct, or by what it never draws."""
    mallory = Mallory(Random(1))
    drawn = b"".join(mallory.raw(kind)[1] for _ in range(300))
    for name, _ in fields(kind):
        assert f'"{name}"'.encode() in drawn, name

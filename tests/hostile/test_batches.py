"""Whatever batches come: nothing but the one error raises, what is refused changes nothing, decent tasks do not notice.

``EFFORT=100`` draws 100,000 batches instead of a few hundred; ``EXPLORE=1`` draws others each time.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from firmament.configuration.document import BASE_POLICIES
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.hostile.batches import Forger
from tests.hostile.known import Known
from tests.hostile.server_side import REQUESTS, Tenants
from tests.hostile.wire_bytes import broken
from tests.support.effort import examples

BATCHES = examples(1_000)
SEED = int(os.environ.get("SEED", "1")) if "EXPLORE" not in os.environ else SystemRandom().randrange(2**32)
PER_POLICY = 2_500
AT_A_TIME = 20
LARGEST_STATE = 2_000_000
"""Bytes; half of them are the history of use of as many machines as there is room for from the start."""


@pytest.mark.parametrize("part", range(-(-BATCHES // PER_POLICY)))
def test_decent_tasks_do_not_notice(tmp_path, part):
    seed = SEED + part
    random = Random(seed)
    tenants = Tenants(tmp_path, BASE_POLICIES[seed % len(BASE_POLICIES)])
    known = Known()
    forger = Forger(random, known)
    drawn = 0

    def report(placed: list[tuple[str, str]]) -> bytes:
        return pb.ClientMessage(reports=forger.reports(placed)).SerializeToString()

    while drawn < min(BATCHES, PER_POLICY):
        for _ in range(AT_A_TIME):
            drawn += 1
            raw = pb.ClientMessage(events=forger.batch()).SerializeToString()
            if random.random() < 0.25:
                raw = broken(random, raw)
            taken = tenants.receive(raw, compare=random.random() < 0.05)
            if taken is not None:
                known.took(taken.events)
        tenants.send(ended := known.surplus(random))
        known.took(pb.EventBatch(events=ended))
        for uid in [*tenants.kinds][: max(0, len(tenants.kinds) - 8)]:
            tenants.delete(uid)
        kind = random.choice([*REQUESTS])
        for index in range(2 if kind == "gang" else 1):
            tenants.create(f"decent-{drawn}-{index}", kind)
        tenants.turn(random.choice((1.0, 30.0, 100.0)), report)
        assert not tenants.complaints(), f"after {drawn} batches of seed {seed}"
        if random.random() < 0.1:
            tenants.ask(random.choice([*known.tasks, "decent-0"]))
        if random.random() < 0.02:
            tenants.begin_anew()
            known.forget()
    assert tenants.placed > drawn / 200, "some have to be placed, so that rounds see them"
    assert sum(tenants.refused.values()) < 0.7 * drawn, "most of what is drawn has to be applied"
    tenants.send(known.removals())
    tenants.turn(1_000.0, report)
    tenants.forget_classes()
    assert not tenants.complaints()
    assert len(tenants.state()) < LARGEST_STATE, "nothing is kept of what is gone"


def test_every_field_of_events_is_drawn():
    """The generator would otherwise pass by what is added to the protocol."""
    forger = Forger(Random(1), Known())
    drawn: set[str] = set()
    for _ in range(300):
        _note_fields(forger.batch(), drawn)
    for name in _fields(pb.EventBatch.DESCRIPTOR, set()) - {"EventBatch.sequence"}:
        assert name in drawn, name


def _note_fields(message: Message, drawn: set[str]) -> None:
    for field, value in message.ListFields():
        drawn.add(f"{message.DESCRIPTOR.name}.{field.name}")
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in value if field.is_repeated else (value,):
            _note_fields(each, drawn)


def _fields(descriptor: Descriptor, seen: set[str]) -> set[str]:
    """The fields of a message and of those within it, but for those of maps."""
    found = set()
    if descriptor.name not in seen:
        seen.add(descriptor.name)
        for field in descriptor.fields:
            found.add(f"{descriptor.name}.{field.name}")
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                found |= _fields(field.message_type, seen)
    return found

"""Whatever batches come: nothing but the one error raises, what is refused changes nothing, decent tasks do not notice.

``EFFORT=100`` draws 100,000 batches instead of a few hundred; ``EXPLORE=1`` draws others each time.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.hostile import runs
from tests.programs.hostile.batches import Forger
from tests.programs.hostile.known import Known
from tests.programs.hostile.timing import Timing
from tests.support.effort import examples

BATCHES = examples(1_000)
SEED = int(os.environ.get("SEED", "1")) if "EXPLORE" not in os.environ else SystemRandom().randrange(2**32)
PER_POLICY = 2_500


@pytest.mark.parametrize("part", range(-(-BATCHES // PER_POLICY)))
def test_decent_tasks_do_not_notice(tmp_path, part):
    runs.batches(tmp_path, SEED + part, min(BATCHES, PER_POLICY), Timing())


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

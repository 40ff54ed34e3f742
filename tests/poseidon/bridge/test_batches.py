"""How events are cut into messages."""

from __future__ import annotations

from poseidon.bridge.solver_stream.batches import split_events
from protos.firmament.v1 import scheduler_pb2 as pb


def test_batches_are_filled_to_the_limit_of_bytes():
    events = [pb.Event(machine_removed=f"n{index}") for index in range(7)]
    size = events[0].ByteSize()
    counts = [len(each.events.events) for each in split_events(events, 100, 3 * size)]
    assert counts == [3, 3, 1]
    counts = [len(each.events.events) for each in split_events(events, 100, 3 * size - 1)]
    assert counts == [2, 2, 2, 1]

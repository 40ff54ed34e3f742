"""What a recorder takes a solver to know is what a solver knows, after any stream."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.recording.stream_state import StreamState
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.recording.streams import BEGIN, DrawnStream
from tests.support.effort import examples


class _Follower:
    """Hears a stream as a recorder does."""

    def __init__(self) -> None:
        self.state = StreamState()

    def begin(self, *_: Any) -> None:
        self.state.clear()

    def note_sent(self, message: pb.ClientMessage) -> None:
        self.state.note_sent(message, BEGIN)

    def note_round(self, result: pb.RoundResult) -> None:
        self.state.note_round(result, BEGIN)


def known_to(solver: EmbeddedScheduler) -> tuple[set[Any], set[Any]]:
    tasks = {(each.uid, each.state.replace("BACKOFF", "PENDING"), each.machine) for each in solver.tasks()}
    machines = {(each.name, each.tasks, str(each.free)) for each in solver.machines()}
    return tasks, machines


@given(seed=st.integers(0, 10**6), turns=st.integers(1, 15))
@settings(max_examples=examples(60), deadline=None)
def test_a_solver_that_begins_with_it_knows_the_same(seed: int, turns: int) -> None:
    stream, follower = DrawnStream(seed), _Follower()
    stream.recorder = follower  # type: ignore[assignment]
    stream.begin(4)
    stream.play(turns)
    again = EmbeddedScheduler(load_configuration(None), lambda: stream.now)
    again.apply(list(follower.state.list_events()))
    assert known_to(again) == known_to(stream.solver)

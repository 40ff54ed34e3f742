"""Between protocol messages and the core's values: strict on the way in, plain on the way out.

Whatever comes out of ``events_from_proto`` is well-formed by itself (names, amounts, operators, lengths).
Whether it fits the cluster (is the class defined, does the machine exist) is for the core to say.
"""

from __future__ import annotations

from firmament.wire.events import event_from_proto, events_from_proto, reports_from_proto
from firmament.wire.rounds import (
    EncodedRound,
    encode_round,
    explanation_to_proto,
    machine_state_to_proto,
    round_to_proto,
    task_state_to_proto,
)

__all__ = [
    "EncodedRound",
    "encode_round",
    "event_from_proto",
    "events_from_proto",
    "explanation_to_proto",
    "machine_state_to_proto",
    "reports_from_proto",
    "round_to_proto",
    "task_state_to_proto",
]

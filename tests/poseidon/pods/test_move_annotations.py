"""Announced moves: the node that a pod's replacement is meant for, as long as a place is kept there."""

from __future__ import annotations

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pods.move_annotations import parse_announced_move

UNTIL = 1767225600.0  # 2026-01-01T00:00:00Z


def pod(**annotations: str) -> Pod:
    named = {f"firmament.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return convert_object({"metadata": {"name": "p", "annotations": named}}, Pod)


@pytest.mark.parametrize(
    ("found", "now", "move"),
    [
        (pod(move_to="n1", move_until="2026-01-01T00:00:00Z"), UNTIL - 1, ("n1", UNTIL)),
        (pod(move_to="n1", move_until="2026-01-01T00:00:00Z"), UNTIL, ("", 0.0)),
        (pod(move_to="n1", move_until="2026-01-01T00:00:00Z"), UNTIL + 1, ("", 0.0)),
        (pod(move_to="n1", move_until="soon"), 0.0, ("", 0.0)),
        (pod(move_to="n1"), 0.0, ("", 0.0)),
        (pod(move_to="", move_until="2026-01-01T00:00:00Z"), 0.0, ("", 0.0)),
        (pod(move_until="2026-01-01T00:00:00Z"), 0.0, ("", 0.0)),
        (pod(), 0.0, ("", 0.0)),
    ],
)
def test_a_move_has_a_node_and_a_time_that_is_not_over(found, now, move):
    assert parse_announced_move(found, now) == move

"""A bridge says what it lacks before it is ready: the solver's needs, the cluster, or a stream if it leads."""

from __future__ import annotations

import pytest

from poseidon.bridge.readiness import Readiness, explain_unready


@pytest.mark.parametrize(
    ("bridge", "lacks"),
    [
        (None, "asking the solver what it needs"),
        (Readiness(knows_cluster=False, leads=False, has_stream=False), "the cluster is not known yet"),
        (Readiness(knows_cluster=False, leads=True, has_stream=True), "the cluster is not known yet"),
        (Readiness(knows_cluster=True, leads=True, has_stream=False), "no stream to a solver"),
        (Readiness(knows_cluster=True, leads=True, has_stream=True), ""),
        (Readiness(knows_cluster=True, leads=False, has_stream=False), ""),
    ],
)
def test_what_a_bridge_lacks_before_it_is_ready(bridge, lacks):
    assert explain_unready(bridge) == lacks

"""Placeholders of suspended objects among the pods of a bridge."""

from __future__ import annotations

from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job


def test_placeholders_give_their_places_back_when_their_object_is_deleted():
    cluster = JobCluster(creates_pods=False)
    cluster.create(job("a", 2))
    cluster.settle()
    assert [bool(record.place) for record in cluster.state.tasks] == [True, True]
    cluster.delete("a")
    cluster.settle()
    assert not [*cluster.state.tasks]

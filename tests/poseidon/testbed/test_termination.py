"""Pods end gracefully where the cluster says so."""

from __future__ import annotations

import pytest

from poseidon.testbed.api_server.operations import MERGE_PATCH, Operations
from poseidon.testbed.controllers.kubelet import STOP_SECONDS, KubeletSimulation
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import Store, decode
from tests.poseidon.testbed.conftest import NOON
from tests.support.cluster import pod


class Scene:
    """A pod on a node, whose kubelet runs by a clock that a test moves."""

    def __init__(self, stop: str = "30", **spec):
        self.now = 0.0
        self.operations = Operations(Store(clock=lambda: NOON + self.now, seed=1), graceful=True)
        self.kubelets = KubeletSimulation(self.operations.store)
        body = pod("a", **spec)
        body["metadata"]["annotations"] = {STOP_SECONDS: stop}
        self.operations.create(PODS, "default", body)

    def run(self):
        bind(self.operations.store, "default", "a", decode_binding(b'{"target":{"name":"n1"}}'))
        self.kubelets.advance(self.now)
        return self

    def at(self, now):
        self.now = now
        return self.kubelets.advance(now)

    def delete(self, grace=None):
        return decode(self.operations.delete(PODS, "default", "a", grace=grace))["metadata"]

    @property
    def there(self):
        return self.operations.store.collection("pods").get("default/a") is not None


def test_a_pod_that_takes_thirty_seconds_to_stop():
    scene = Scene(terminationGracePeriodSeconds=60).run()
    metadata = scene.delete()
    assert metadata["deletionTimestamp"] == "2026-01-01T12:01:00Z"
    assert metadata["deletionGracePeriodSeconds"] == 60
    assert scene.at(0.0) == 30.0
    scene.at(29.0)
    assert scene.there
    scene.at(30.0)
    assert not scene.there


@pytest.mark.parametrize(("stop", "grace", "gone_at"), [("0", None, 0.0), ("90", None, 30.0), ("90", 5, 5.0)])
def test_the_grace_period_is_the_most_that_it_gets(stop, grace, gone_at):
    scene = Scene(stop).run()
    scene.delete(grace)
    assert scene.at(0.0) in (gone_at, None)
    scene.at(gone_at)
    assert not scene.there


def test_a_second_request_may_shorten_the_time_and_never_lengthens_it():
    scene = Scene("90").run()
    scene.delete(20)
    assert scene.delete(40)["deletionGracePeriodSeconds"] == 20
    scene.at(1.0)
    assert scene.delete(5)["deletionGracePeriodSeconds"] == 5
    scene.at(1.0)
    scene.at(6.0)
    assert not scene.there


def test_zero_seconds_mean_at_once():
    scene = Scene().run()
    scene.delete(0)
    assert not scene.there


def test_a_pod_without_a_node_and_one_that_has_ended_go_at_once():
    waiting = Scene()
    waiting.delete()
    assert not waiting.there
    ended = Scene().run()
    ended.operations.patch(PODS, "default", "a", MERGE_PATCH, {"status": {"phase": "Failed"}}, status=True)
    ended.delete()
    assert not ended.there


def test_status_can_be_written_while_a_pod_stops():
    scene = Scene().run()
    scene.delete()
    patch = {"status": {"nominatedNodeName": "n2"}}
    record = scene.operations.patch(PODS, "default", "a", MERGE_PATCH, patch, status=True)
    assert decode(record)["status"]["nominatedNodeName"] == "n2"
    assert scene.there


def test_finalizers_outlast_the_grace_period():
    scene = Scene("10").run()
    scene.operations.patch(PODS, "default", "a", MERGE_PATCH, {"metadata": {"finalizers": ["example.com/x"]}})
    scene.delete()
    scene.at(0.0)
    scene.at(10.0)
    assert scene.there
    scene.operations.patch(PODS, "default", "a", MERGE_PATCH, {"metadata": {"finalizers": None}})
    assert not scene.there

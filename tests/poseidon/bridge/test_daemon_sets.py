"""Only what a DaemonSet that exists controls is let onto nodes above their thresholds of use."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import ScaledOwner
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.support.needs import words_of

OVERLAYS = ["load_threshold"]


def daemon_set(name="agent", namespace="infra", uid="ds-1"):
    return ScaledOwner(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def owned(made=None, **reference):
    told = {"api_version": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "ds-1", "controller": True}
    owner = OwnerReference(**{**told, **reference})
    made = made or pod("p", namespace="infra")
    return replace(made, metadata=replace(made.metadata, owner_references=(owner,)))


@pytest.fixture
def state():
    made = BridgeState(needs=words_of(*OVERLAYS))
    made.nodes_changed([present(node("n1"))])
    return made


def exempt(state):
    """Uids of the pods that the solver takes for daemons."""
    state.take_events()
    events = state.snapshot()
    daemons = {each.task_class.id for each in events if each.task_class.daemon}
    return {uid for each in events for uid in each.tasks.uids if each.tasks.task_class in daemons}


def test_a_pod_of_a_daemon_set_that_exists_is_exempt(state):
    assert state.follows(kinds.DAEMON_SET)
    state.handlers[kinds.DAEMON_SET]([present(daemon_set())])
    state.pods_changed([present(owned())])
    assert exempt(state) == {"pod-p"}


@pytest.mark.parametrize(
    "forged",
    [
        {"name": "other"},
        {"uid": "ds-2"},
        {"controller": False},
        {"kind": "ReplicaSet"},
        {"api_version": "evil.example/v1"},
    ],
)
def test_a_pod_that_only_says_so_is_not(state, forged):
    state.handlers[kinds.DAEMON_SET]([present(daemon_set())])
    state.pods_changed([present(owned(**forged))])
    assert exempt(state) == set()


def test_a_daemon_set_elsewhere_is_nobodys_owner_here(state):
    state.handlers[kinds.DAEMON_SET]([present(daemon_set(namespace="kube-system"))])
    state.pods_changed([present(owned())])
    assert exempt(state) == set()


def test_a_pod_that_is_seen_before_its_daemon_set_is_exempt_from_then_on(state):
    state.pods_changed([present(owned())])
    assert exempt(state) == set()
    state.handlers[kinds.DAEMON_SET]([present(daemon_set(uid="ds-0"))])
    assert exempt(state) == set()
    state.handlers[kinds.DAEMON_SET]([gone(daemon_set(uid="ds-0")), present(daemon_set())])
    assert exempt(state) == {"pod-p"}


def test_a_daemon_set_that_is_gone_exempts_no_new_pods(state):
    state.handlers[kinds.DAEMON_SET]([present(daemon_set())])
    state.handlers[kinds.DAEMON_SET]([gone(daemon_set())])
    state.pods_changed([present(owned())])
    assert exempt(state) == set()


def test_nobody_asks_for_daemon_sets_where_no_model_looks_at_them():
    assert not BridgeState().follows(kinds.DAEMON_SET)

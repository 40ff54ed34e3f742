"""Records of pods: by uid, and by the name that a pod has now."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from tests.poseidon.bridge.objects import gone, pod, present


def test_a_name_is_that_of_the_pod_that_has_it_now():
    state = BridgeState()
    old = pod("a")
    new = replace(old, metadata=replace(old.metadata, uid="pod-a-again"))
    state.pods_changed([present(old)])
    found = state.tasks.find_by_name("default/a")
    assert found is not None
    assert found.task.uid == "pod-a"
    # Its successor is seen before its end is.
    state.pods_changed([present(new)])
    state.pods_changed([gone(old)])
    found = state.tasks.find_by_name("default/a")
    assert found is not None
    assert found.task.uid == "pod-a-again"
    state.pods_changed([gone(new)])
    assert state.tasks.find_by_name("default/a") is None
    state.pods_changed([present(old)])
    assert state.tasks.find_by_name("default/a") is not None

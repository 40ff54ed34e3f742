"""What keeps a pod back is known to the solver at once: it does not place it, until nothing does any more."""

from __future__ import annotations

from poseidon.lifecycle.phases import Phase
from tests.poseidon.bridge.objects import pod, present
from tests.poseidon.bridge.test_state import Harness


def test_a_pending_pod_that_has_to_wait_is_taken_back_and_offered_again():
    harness = Harness()
    harness.pods(present(pod("a")), present(pod("b")))
    tasks = harness.state.tasks
    record = tasks.get("pod-a")
    assert record is not None
    seen: list[tuple[Phase, set[str]]] = []
    for wait in ("claim web is not bound", ""):
        tasks.hold(record, claims=wait)
        harness.sync()
        seen.append((record.phase, set(harness.view.tasks)))
    assert seen == [(Phase.HELD, {"pod-b"}), (Phase.PENDING, {"pod-a", "pod-b"})]

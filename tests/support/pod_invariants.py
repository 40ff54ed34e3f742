"""What must hold of all pods of the bridge at any time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Phase

if TYPE_CHECKING:
    from poseidon.bridge.state import BridgeState
    from poseidon.lifecycle.phases import PodRecord


def violations(state: BridgeState) -> list[str]:
    """Return what does not hold, in words; nothing is changed.

    Each pod's place, and what holds its binding up, is that of its phase; who is on which node, and what is requested
    there, is what a recount over all pods finds.
    """
    tasks, requested = state.tasks, state.requested
    found = [
        f"{record.task.name} is {record.phase.value}: {problem}"
        for record in tasks
        for problem in _of_record(state, record)
    ]
    on_node: dict[str, set[str]] = {}
    expected: dict[str, Counter[str]] = {}
    for record in tasks:
        if record.place:
            on_node.setdefault(record.place, set()).add(record.task.uid)
            sums = expected.setdefault(record.place, Counter())
            sums.update(dict(state.bind_check.requests(record.task.task_class)))
    for node in on_node.keys() | set(tasks._on_node) | set(requested._used):
        indexed = {record.task.uid for record in tasks.on_node(node)}
        if indexed != on_node.get(node, set()):
            found.append(f"node {node} has {sorted(indexed)} instead of {sorted(on_node.get(node, set()))}")
        counted = {name: amount for name, amount in expected.get(node, Counter()).items() if amount}
        if dict(requested.get_requested(node)) != counted:
            found.append(f"node {node} counts {dict(requested.get_requested(node))} instead of {counted}")
    return found


def _of_record(state: BridgeState, record: PodRecord) -> list[str]:
    phase, uid = record.phase, record.task.uid
    checks = {
        "it is on a node": phase in UNPLACED and bool(record.place),
        "it is offered otherwise": phase in UNPLACED and record.offered is not (phase is Phase.PENDING),
        "it has been shown on a node": phase in UNDER_WAY and bool(record.node),
        "it is bound to no node": phase in UNDER_WAY and not record.binding,
        "nothing has been decided of it": phase is Phase.PLACED,
        "no binding was posted": phase is Phase.ANSWER_DUE and not (record.node and record.binding),
        "it is on no node": phase not in UNPLACED and not record.place,
        "it waits for pods otherwise": state.pending_bindings.dependencies.holds(uid)
        is not (phase is Phase.WAITING),
        "its claims are not being bound": phase is Phase.BINDING_CLAIMS
        and uid not in state.volumes.bindings
        and uid not in state.devices,
    }
    return [words for words, wrong in checks.items() if wrong]

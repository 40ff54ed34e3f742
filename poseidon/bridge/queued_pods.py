"""Applies what queues come to, to the pods that are in them."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.bridge.stores import Stores
from poseidon.queues.book import QueueBook


def move_queued_pods(stores: Stores, queues: QueueBook) -> None:
    """Let changes of queues take effect on pods: which quota each draws on, and which have to wait."""
    queues.settle()
    for uid in queues.take_moved():
        record = stores.tasks.get(uid)
        if record is None:
            continue
        quota, wait = queues.resolve(uid)
        record.task = replace(record.task, traits=stores.classes.set_queue(record.task.traits, quota))
        stores.tasks.hold(record, queue=wait)
        stores.tasks.mark(uid)
        stores.pending_reasons.consider_wait(record)

"""Measures the memory of a bridge's state: all objects of a cluster read, translated, and described to a solver."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import msgspec
import psutil

from benchmarks.processes.end_to_end import EndToEndOptions, node_objects, pod_objects
from firmament.memory import keep_freed_memory, relax_garbage_collection
from poseidon.bridge.state import BridgeState
from poseidon.kube.api.decoding import decode_page
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change

T = TypeVar("T", Node, Pod)

_PAGE = 500
"""Objects in one answer of an API server."""


def measure_bridge_memory(nodes: int, pods: int, classes: int) -> float:
    """Return the MiB by which this process grows as a bridge's state takes in a cluster whose pods all run.

    To be called in a process of its own.
    """
    keep_freed_memory()
    relax_garbage_collection()
    state, process = BridgeState(), psutil.Process()
    before = process.memory_info().rss
    for changes in _read_pages(node_objects(nodes), Node):
        state.nodes_changed(changes)
    bound = (
        {
            **each,
            "spec": {**each["spec"], "nodeName": f"node-{index % nodes:05d}"},
            "status": {"phase": "Running"},
        }
        for index, each in enumerate(pod_objects(EndToEndOptions(pods=pods, classes=classes), "default"))
    )
    for page in _read_pages(bound, Pod):
        state.pods_changed(page)
    for _ in state.snapshot():
        pass
    gc.collect()
    return (process.memory_info().rss - before) / 2**20


def _read_pages(objects: Iterable[dict[str, Any]], kind: type[T]) -> Iterator[list[Change[T]]]:
    """Yield objects as a bridge reads them from the pages of a list."""
    left, number = iter(objects), 0
    while page := list(islice(left, _PAGE)):
        number += 1
        for index, each in enumerate(page):
            each["metadata"]["uid"] = f"{number:08x}-0000-4000-8000-{index:012x}"
        raw = msgspec.json.encode({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": page})
        yield [Change(each.metadata.uid, each) for each in decode_page(raw, kind).items]

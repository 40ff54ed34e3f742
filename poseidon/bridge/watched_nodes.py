"""What nodes come to: machines, and what images, volumes, applications and samples have to know of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from poseidon.nodes import machine as node_translation

if TYPE_CHECKING:
    from poseidon.bridge.books import Books
    from poseidon.kube.api.core import Node
    from poseidon.kube.watch.changes import Change

_log = logging.getLogger(__name__)

KIND = "nodes"


class Nodes:
    """Takes nodes as they are now and brings ``books`` up to date."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def take(self, changes: Sequence[Change[Node]]) -> None:
        """Take nodes as they are now."""
        for change in changes:
            if change.object is None:
                self._remove(change.uid)
                self._books.quarantine.release(KIND, change.uid)
            else:
                self._take(change.uid, change.object)

    def _take(self, uid: str, node: Node) -> None:
        """Take a node as it is now; one that cannot be dealt with is not used, as if it were not there."""
        quarantine = self._books.quarantine
        with quarantine.attempt(KIND, uid, name=node.metadata.name) as attempt:
            self._changed(uid, node)
        if attempt.failed:
            self._remove(uid)

    def _remove(self, uid: str) -> None:
        name = self._books.machines.remove(uid)
        if name:
            self._gone(name)

    def _gone(self, name: str) -> None:
        """Forget a node, in each book whatever goes wrong in another."""
        books = self._books
        leave = [
            books.gangs.topology.trees.node_gone,
            books.images.forget,
            books.volumes.node_gone,
            books.fitness.forget,
            books.placements.node_gone,
            books.tasks.mark_node,
            books.samples.mark,
        ]
        if books.applications is not None:
            leave.append(books.applications.node_gone)
        for forget in leave:
            with books.quarantine.attempt("nodes that are gone", name):
                forget(name)
        books.quarantine.release("nodes that are gone", name)

    def _changed(self, uid: str, node: Node) -> None:
        books = self._books
        machine, defects = node_translation.machine(node, books.classes.visibility.node_annotations)
        name = machine.name
        if not name:
            return
        books.images.put(name, machine.images)
        del machine.images[:]
        machine.images.extend(books.images.heavy_on(name))
        books.volumes.node_changed(name, node.metadata.labels)
        if books.applications is not None:
            books.applications.node_changed(name, node.metadata.labels)
        books.gangs.topology.trees.node_changed(name, node.metadata.labels)
        if books.machines.put(uid, machine):
            books.tasks.mark_node(name)
            books.samples.mark(name)
            for defect in defects:
                _log.warning('node has a defect node=%s defect="%s"', name, defect)

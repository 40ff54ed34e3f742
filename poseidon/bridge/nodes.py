"""What nodes come to: machines, and what images, volumes, applications and samples have to know of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from poseidon.translate import node as node_translation

if TYPE_CHECKING:
    from poseidon.bridge.books import Books
    from poseidon.kube.following import Change
    from poseidon.kube.objects import Node

_log = logging.getLogger(__name__)


class Nodes:
    """Takes nodes as they are now and brings ``books`` up to date."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def take(self, changes: Sequence[Change[Node]]) -> None:
        """Take nodes as they are now."""
        for change in changes:
            if change.object is None:
                name = self._books.machines.remove(change.uid)
                if name:
                    self._gone(name)
            else:
                self._changed(change.uid, change.object)

    def _gone(self, name: str) -> None:
        books = self._books
        if books.applications is not None:
            books.applications.node_gone(name)
        books.gangs.topology.trees.node_gone(name)
        books.images.forget(name)
        books.volumes.node_gone(name)
        books.fitness.forget(name)
        books.placements.node_gone(name)
        books.tasks.mark_node(name)
        books.samples.mark(name)

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

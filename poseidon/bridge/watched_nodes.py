"""Translates watched nodes into machines, and passes changes of nodes to the stores that depend on nodes."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from poseidon.bridge.stores import Stores
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
from poseidon.kube.api.other_projects.kueue_topology import KueueTopology
from poseidon.kube.api.resource import Change
from poseidon.nodes.machines import machine as machine_of

_log = logging.getLogger(__name__)

KIND = "nodes"


class WatchedNodes:
    """The receiver of changes of nodes, which updates ``stores``."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def take_changes(self, changes: Sequence[Change[Node]]) -> None:
        """Update ``stores`` with changed nodes."""
        for change in changes:
            if change.object is None:
                self._remove(change.uid)
                self._stores.quarantine.release(KIND, change.uid)
            else:
                self._update(change.uid, change.object)
        self._label()

    def take_hyper_nodes(self, changes: Sequence[Change[HyperNode]]) -> None:
        """Handle changes of HyperNodes: update the labels of machines and the tiers that groups may name."""
        stores = self._stores
        for change in changes:
            if change.object is None:
                stores.hyper_nodes.remove(change.uid)
            else:
                stores.hyper_nodes.put(change.uid, change.object)
        self._label()
        stores.groups.set_tiers(stores.hyper_nodes.tiers)
        stores.gangs.apply()

    def take_topologies(self, changes: Sequence[Change[KueueTopology]]) -> None:
        """Handle changes of Kueue's Topologies: update the labels of machines."""
        known = self._stores.topology_labels
        for change in changes:
            if change.object is None:
                known.remove(change.uid)
            else:
                known.put(change.uid, change.object)
        self._label()

    def _label(self) -> None:
        stores = self._stores
        for source, known in (("tiers", stores.hyper_nodes), ("topologies", stores.topology_labels)):
            for name, labels in known.take_labels():
                stores.machines.add_labels(name, labels, source)

    def _update(self, uid: str, node: Node) -> None:
        """Update a node. If the update fails, the node is not used, as if it did not exist."""
        quarantine = self._stores.quarantine
        with quarantine.attempt(KIND, uid, name=node.metadata.name) as attempt:
            self._apply_change(uid, node)
        if attempt.failed:
            self._remove(uid)

    def _remove(self, uid: str) -> None:
        name = self._stores.machines.remove(uid)
        if name:
            self._forget(name)

    def _forget(self, name: str) -> None:
        """Remove a deleted node in each store, even if another store fails."""
        stores = self._stores
        leave = [
            stores.gangs.topology.trees.node_gone,
            stores.images.forget,
            stores.hyper_nodes.forget_node,
            stores.topology_labels.forget_node,
            stores.volumes.node_gone,
            stores.bind_check.forget,
            stores.pending_bindings.node_gone,
            stores.tasks.mark_node,
            stores.samples.mark,
        ]
        if stores.applications is not None:
            leave.append(stores.applications.members.node_gone)
        leave.append(stores.extended_resources.forget_offers)
        if stores.shared_gpus is not None:
            leave.append(stores.shared_gpus.forget_node)
        for forget in leave:
            with stores.quarantine.attempt("nodes that are gone", name):
                forget(name)
        stores.quarantine.release("nodes that are gone", name)

    def _apply_change(self, uid: str, node: Node) -> None:
        stores = self._stores
        machine, defects = machine_of(node, stores.classes.visibility.node_annotations)
        name = machine.name
        if not name:
            return
        stores.images.put(name, machine.images)
        del machine.images[:]
        machine.images.extend(stores.images.list_heavy_images(name))
        stores.hyper_nodes.note_node(name, node.metadata.labels)
        stores.topology_labels.note_node(name, node.metadata.labels)
        stores.volumes.node_changed(name, node.metadata.labels)
        if stores.applications is not None:
            stores.applications.members.node_changed(name, node.metadata.labels)
        stores.gangs.topology.trees.node_changed(name, node.metadata.labels)
        stores.extended_resources.note_offers(machine)
        if stores.shared_gpus is not None:
            stores.shared_gpus.put_node(name, node.metadata.annotations)
        if stores.machines.put(uid, machine):
            stores.tasks.mark_node(name)
            stores.samples.mark(name)
            for defect in defects:
                _log.warning('node has a defect node=%s defect="%s"', name, defect)

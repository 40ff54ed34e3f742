"""Keeps the nodes of the cluster as machines, and which machines the solver knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from poseidon.custom_records import NameIndex, Outbox
from poseidon.kube.api.nodes import Node, Taint
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.pod_rules.label_selectors import format_choice
from poseidon.pod_rules.node_declared_features import feature_labels
from poseidon.pod_rules.taint_toleration import EFFECTS
from poseidon.pods.requests_and_limits import amounts
from poseidon.pods.visibility import filter_by_prefix
from protos.firmament.v1 import scheduler_pb2 as pb

_MOST = MAX_AMOUNT - 1
"""Largest amount that a node may offer. Requests too large to be counted exactly are larger, so they fit nowhere."""

_NO_ALLOCATABLE = "missing, so nothing fits on the node; give cpu, memory and pods"


def machine(node: Node, annotations: frozenset[str] = frozenset()) -> tuple[pb.Machine, tuple[Defect, ...]]:
    """Return the machine of a node, and the node's defects.

    The solver always accepts the message: malformed amounts and taints are left out, and a node that reports no
    allocatable resources offers none. The message contains the annotations meant for cost models, and those in
    ``annotations``.
    """
    defects: list[Defect] = []
    if not node.metadata.name:
        defects.append(Defect("metadata.name", "missing; give the node a name"))
    allocatable = node.status.allocatable
    if not allocatable:
        defects.append(Defect("status.allocatable", _NO_ALLOCATABLE))
    offered = {
        name: min(amount, _MOST)
        for name, amount in amounts(allocatable or {}, "status.allocatable", defects, down=True).items()
    }
    # Allocatable states what the kubelet gives to pods; only cost models use the other facts.
    ignored: list[Defect] = []
    hardware = amounts(node.status.capacity, "status.capacity", ignored, down=True)
    taints = [
        pb.Taint(key=taint.key, value=taint.value, effect=taint.effect)
        for index, taint in enumerate(node.spec.taints)
        if _is_sound(taint, f"spec.taints[{index}]", defects)
    ]
    found = node.metadata.annotations
    message = pb.Machine(
        name=node.metadata.name,
        labels=node.metadata.labels | feature_labels(node.status.declared_features),
        taints=taints,
        allocatable=[pb.Quantity(resource=name, amount=offered[name]) for name in sorted(offered)],
        total=[
            pb.Quantity(resource=name, amount=hardware[name])
            for name in sorted(hardware)
            if hardware[name] != offered.get(name)
        ],
        unschedulable=node.spec.unschedulable,
        not_ready=not is_ready(node),
        annotations=filter_by_prefix(found) | {key: found[key] for key in annotations if key in found},
        images=[
            pb.Image(names=sorted(set(image.names)), size=min(max(image.size_bytes, 0), MAX_AMOUNT))
            for image in node.status.images
            if image.names
        ],
    )
    return message, tuple(defects)


def is_ready(node: Node) -> bool:
    """Return whether the node's Ready condition is True; a node without this condition, as in files, is ready."""
    return all(
        condition.status == "True" for condition in node.status.conditions if condition.type == "Ready"
    )


def _is_sound(taint: Taint, path: str, defects: list[Defect]) -> bool:
    if not taint.key:
        defects.append(Defect(f"{path}.key", "missing; name the taint"))
        return False
    if taint.effect not in EFFECTS:
        defects.append(
            Defect(f"{path}.effect", f"unknown effect {taint.effect!r}; use {format_choice(EFFECTS)}")
        )
        return False
    return True


class _Offers(NamedTuple):
    amounts: Mapping[str, int]
    attached: tuple[str, ...]
    rooms: tuple[pb.StorageRoom, ...]


class Machines:
    """Machines by name, with the changes that the current stream has not sent yet.

    A uid identifies a node, so that the late deletion of an earlier node does not remove a new node of the same name.
    """

    def __init__(self) -> None:
        self._outbox: Outbox[str, pb.Machine] = Outbox()
        self._reported: dict[str, pb.Machine] = {}
        self._offers: dict[str, _Offers] = {}
        self._labels: dict[str, dict[str, Mapping[str, str]]] = {}
        self._names = NameIndex()
        self._told_gone: set[str] = set()

    def __len__(self) -> int:
        return len(self._outbox)

    def __contains__(self, name: str) -> bool:
        return name in self._outbox

    def get(self, name: str) -> pb.Machine | None:
        """Return the present message of a machine, or None.

        After each change of the machine, the message is another object.
        """
        return self._outbox.get(name)

    def total(self, resource: str) -> int:
        """Return the sum of a resource over all machines. Reads every machine."""
        return sum(
            each.amount
            for machine in self._outbox
            for each in machine.allocatable
            if each.resource == resource
        )

    def list_offering(self, resource: str) -> list[str]:
        """Return the machines that offer some of a resource; reads every machine."""
        return [
            machine.name
            for machine in self._outbox
            if any(each.resource == resource and each.amount > 0 for each in machine.allocatable)
        ]

    def put(self, uid: str, machine: pb.Machine) -> bool:
        """Add or replace a node; return whether its name is new."""
        name = machine.name
        known = name in self._outbox
        self._names.put(uid, name)
        if self._reported.get(name) != machine:
            self._reported[name] = machine
            self._describe(name)
        return not known

    def offer(
        self,
        name: str,
        amounts: Mapping[str, int],
        attached: Sequence[str] = (),
        rooms: Sequence[pb.StorageRoom] = (),
    ) -> None:
        """Set what a machine offers in addition to its node's report; the call replaces earlier additions.

        ``attached``: attached volumes that several pods use; ``rooms``: storage that the machine reaches, for volumes
        that are still to be made.
        """
        if amounts or attached or rooms:
            self._offers[name] = _Offers(amounts, tuple(attached), tuple(rooms))
        else:
            self._offers.pop(name, None)
        if name in self._reported:
            self._describe(name)

    def add_labels(self, name: str, labels: Mapping[str, str], source: str = "") -> None:
        """Set labels of a machine in addition to its node's labels.

        The labels replace earlier labels from the same ``source``.
        """
        self._labels.setdefault(name, {})[source] = labels
        if name in self._reported:
            self._describe(name)

    def show_images(self, name: str, images: Iterable[pb.Image]) -> None:
        """Set the images of a machine that affect scores; they replace the earlier ones."""
        machine = pb.Machine()
        machine.CopyFrom(self._reported[name])
        del machine.images[:]
        machine.images.extend(images)
        self._reported[name] = machine
        self._describe(name)

    def remove(self, uid: str) -> str:
        """Remove a node; return its name, or "" if it is unknown or another node has the name now."""
        name = self._names.remove(uid)
        if name:
            del self._reported[name]
            self._offers.pop(name, None)
            self._labels.pop(name, None)
            self._outbox.drop(name)
        return name

    def forget_sent(self) -> None:
        """Begin a stream to a solver that has no machines."""
        self._told_gone.clear()
        self._outbox.begin_stream()

    def has_returned(self, name: str) -> bool:
        """Return whether a machine exists again after its removal was sent on this stream."""
        return name in self._told_gone

    @property
    def changed(self) -> bool:
        """Whether machines may have changed since they were last taken."""
        return self._outbox.changed

    def take_removed(self) -> list[str]:
        """Return the names of machines that the solver knows and that were removed, each once."""
        gone = self._outbox.take_gone()
        self._told_gone.update(gone)
        return gone

    def take_changed(self) -> list[pb.Machine]:
        """Return the machines that are new to the solver or have changed, each once."""
        return [machine for _, machine in self._outbox.take_changed()]

    def _describe(self, name: str) -> None:
        machine = self._reported[name]
        offers, added = self._offers.get(name), self._labels.get(name, {})
        if offers or any(added.values()):
            reported, machine = machine, pb.Machine()
            machine.CopyFrom(reported)
        for labels in added.values():
            machine.labels.update(labels)
        if offers:
            amounts = {each.resource: each.amount for each in machine.allocatable} | dict(offers.amounts)
            del machine.allocatable[:]
            machine.allocatable.extend(
                pb.Quantity(resource=resource, amount=amounts[resource]) for resource in sorted(amounts)
            )
            machine.attached.extend(offers.attached)
            machine.storage.extend(offers.rooms)
        self._outbox.put(name, machine)

"""Numbers of classes by content, and the messages that describe them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from poseidon.kube.parsing.defects import Defect
from poseidon.pods.templates import Plain
from poseidon.pods.visibility import Visibility, VisibleLabels
from poseidon.volumes.requirements import NO_NEEDS, VolumeNeeds, with_needs
from protos.firmament.v1 import scheduler_pb2 as pb

LEAST_SURPLUS = 256
"""New classes after which it is worth looking which are still borne by a pod."""

GROUP_LABEL = "group of pods"
"""A label that classes bear for this alone. No pod can have one of this name: it has blanks."""


class Shown(NamedTuple):
    """What of a pod's own metadata its class bears."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    ending: bool

    def add_to(self, message: pb.TaskClass) -> None:
        """Let a class bear it."""
        message.namespace = self.namespace
        message.labels.update(self.labels)
        message.terminating = self.ending


def shown(
    visible: Visibility,
    visible_labels: VisibleLabels,
    namespace: str,
    labels: Iterable[tuple[str, str]],
    *,
    ending: bool,
) -> Shown:
    """Choose what models or selectors look at; ``labels`` come sorted."""
    return Shown(
        namespace if visible_labels.namespace or visible.namespaces else "",
        tuple([item for item in labels if item[0] in visible_labels.labels or item[0] in visible.labels]),
        ending,
    )


class ClassKey(NamedTuple):
    """What makes a class; ``node``: the only one for its pods, "" for any."""

    plain: Plain
    needs: VolumeNeeds
    images: tuple[str, ...]
    shown: Shown
    colocation: Colocation
    node: str


class ClassNumbers:
    """Classes by number, from 1. A number is given once, and stands for nothing after it was forgotten."""

    def __init__(self) -> None:
        self._last = 0
        self._numbers: dict[ClassKey, int] = {}
        self._keys: dict[int, ClassKey] = {}
        self._messages: dict[int, pb.TaskClass] = {}
        self._look_at = LEAST_SURPLUS

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def has_surplus(self) -> bool:
        """Whether many classes have come since ``keep_only`` was last called: at least a fourth of them."""
        return len(self._keys) >= self._look_at

    def number(self, key: ClassKey) -> int:
        """Return the number of a class, a new one for a class that is not known."""
        number = self._numbers.get(key)
        if number is None:
            self._last += 1
            number = self._numbers[key] = self._last
            self._keys[number] = key
        return number

    def message(self, number: int) -> pb.TaskClass:
        """Return the description of a class."""
        message = self._messages.get(number)
        if message is None:
            plain, needs, images, borne, colocation, node = self._keys[number]
            if needs == NO_NEEDS:
                message = pb.TaskClass()
                message.CopyFrom(plain.message)
            else:
                message = with_needs(plain.message, needs)
            message.id = number
            if node:
                message.machine = node
                message.never_preempts = True  # others need not leave: it may go elsewhere, too
            message.images.extend(images)
            borne.add_to(message)
            if not message.invalid:
                colocation.add_to(message)
            self._messages[number] = message
        return message

    def defects(self, number: int) -> tuple[Defect, ...]:
        """Return what is wrong with the spec of the class's pods, empty if nothing is."""
        return self._keys[number].plain.defects

    def keep_only(self, numbers: Collection[int]) -> list[int]:
        """Forget all other classes; returns their numbers."""
        gone = [number for number in self._keys if number not in numbers]
        for number in gone:
            del self._numbers[self._keys.pop(number)]
            self._messages.pop(number, None)
        self._look_at = len(self._keys) + max(LEAST_SURPLUS, len(self._keys) // 4)
        return gone


class Colocation(NamedTuple):
    """The pods of ``group`` go to nodes with one value of each of the labels ``topology_keys``.

    As Kubernetes' ``schedulingConstraints.topology`` does; a required affinity of the pods to each other, so that the
    first may go anywhere, nodes without the label take none, and those that come later follow those that run.
    """

    group: str
    topology_keys: tuple[str, ...]

    def add_to(self, message: pb.TaskClass) -> None:
        """Let a class have it."""
        if not self.topology_keys:
            return
        message.labels[GROUP_LABEL] = self.group
        own = pb.TaskSelector(
            labels=[pb.Requirement(key=GROUP_LABEL, operator="In", values=[self.group])],
            namespaces_by_label=pb.NamespaceSelector(),
        )
        message.affinity.extend(pb.TaskTerm(topology_key=key, selector=own) for key in self.topology_keys)


ANYWHERE = Colocation("", ())

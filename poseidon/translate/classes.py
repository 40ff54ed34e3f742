"""Task classes: what constraints and costs can see of a pod, described once and referred to by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from poseidon.translate.affinity import preferred_terms, required_terms, tolerations
from poseidon.translate.defects import Defect
from poseidon.translate.resources import effective_requests
from poseidon.translate.visibility import Visibility
from poseidon.translate.volumes import NO_NEEDS, with_needs
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.kube.objects import Pod, PodSpec
    from poseidon.translate.volumes import VolumeNeeds

_SPEC_CACHE_LIMIT = 50_000


def class_content(
    pod: Pod, visibility: Visibility | None = None, *, machine: str = ""
) -> tuple[pb.TaskClass, tuple[Defect, ...]]:
    """Return the class of a pod, with id 0, and what is wrong with the pod's spec.

    ``machine`` pins the class. A class with defects carries them as ``invalid`` and only its requests
    besides, so that the solver always accepts it, never places it, and still counts it where it runs.
    """
    visible = visibility or Visibility()
    spec = pod.spec
    defects: list[Defect] = []
    if not spec.containers:
        defects.append(Defect("spec.containers", "empty; a pod needs at least one container"))
    requests = effective_requests(spec, defects)
    message = pb.TaskClass(
        requests=[pb.Quantity(resource=name, amount=requests[name]) for name in sorted(requests)],
        namespace=visible.namespace_of(pod),
        labels=visible.labels_of(pod),
        annotations=visible.annotations_of(pod),
        machine=machine,
    )
    rules = _rules(spec, defects)
    if defects:
        message.invalid = "; ".join(str(defect) for defect in defects)
    else:
        message.MergeFrom(rules)
    return message, tuple(defects)


def _rules(spec: PodSpec, defects: list[Defect]) -> pb.TaskClass:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return pb.TaskClass(
        node_selector=spec.node_selector,
        required=required_terms(affinity, defects) if affinity else (),
        preferred=preferred_terms(affinity, defects) if affinity else (),
        tolerations=tolerations(spec.tolerations, defects),
    )


class ClassTable:
    """Numbers classes by content, from 1.

    Most pods are copies of a template, so a pod whose relevant spec has been seen before costs one encoding
    and one look-up. Classes are never forgotten; the memory of specs is bounded.
    """

    def __init__(self, visibility: Visibility | None = None) -> None:
        self._visibility = visibility or Visibility()
        self._encode = msgspec.json.Encoder().encode
        self._by_spec: dict[bytes, int] = {}
        self._by_content: dict[bytes, int] = {}
        self._by_needs: dict[tuple[int, VolumeNeeds], int] = {}
        self._messages: list[pb.TaskClass] = []
        self._defects: list[tuple[Defect, ...]] = []

    def __len__(self) -> int:
        return len(self._messages)

    def intern(self, pod: Pod, *, machine: str = "") -> int:
        """Return the number of the pod's class, pinned to ``machine`` if given, not by ``spec.nodeName``."""
        key = self._spec_key(pod, machine)
        known = self._by_spec.get(key)
        if known is not None:
            return known
        number = self._number(*class_content(pod, self._visibility, machine=machine))
        if len(self._by_spec) >= _SPEC_CACHE_LIMIT:
            self._by_spec.clear()
        self._by_spec[key] = number
        return number

    def with_volumes(self, number: int, needs: VolumeNeeds) -> int:
        """Return the number of the class that is like class ``number`` and needs volumes besides."""
        if needs == NO_NEEDS:
            return number
        known = self._by_needs.get((number, needs))
        if known is None:
            message = with_needs(self._messages[number - 1], needs)
            known = self._number(message, self._defects[number - 1])
            if len(self._by_needs) >= _SPEC_CACHE_LIMIT:
                self._by_needs.clear()
            self._by_needs[number, needs] = known
        return known

    def _number(self, message: pb.TaskClass, defects: tuple[Defect, ...]) -> int:
        """Return the number of a class without one, by content."""
        content = message.SerializeToString(deterministic=True)
        number = self._by_content.get(content)
        if number is None:
            number = len(self._messages) + 1
            message.id = number
            self._messages.append(message)
            self._defects.append(defects)
            self._by_content[content] = number
        return number

    def message(self, number: int) -> pb.TaskClass:
        """Return the description of a class, to be sent once per stream before tasks refer to it."""
        return self._messages[number - 1]

    def defects(self, number: int) -> tuple[Defect, ...]:
        """Return what is wrong with the spec of the class's pods, empty if nothing is."""
        return self._defects[number - 1]

    def _spec_key(self, pod: Pod, machine: str) -> bytes:
        spec = pod.spec
        visible = self._visibility
        return self._encode(
            (
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                machine,
                visible.namespace_of(pod),
                visible.labels_of(pod),
                visible.annotations_of(pod),
            )
        )

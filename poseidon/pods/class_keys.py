"""Defines the properties of pods that distinguish classes: template, read labels, and what other objects determine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from poseidon.devices.needs import DeviceNeeds
from poseidon.pod_rules.pod_affinity import ANYWHERE, Colocation
from poseidon.pod_rules.tolerations_from_flavors import GivenTolerations
from poseidon.pods.templates import Plain, Template
from poseidon.pods.tree_place import NO_TREE, TreePlace
from poseidon.pods.visibility import Shown, VisibleLabels
from poseidon.volumes.requirements import NO_NEEDS, VolumeNeeds


@dataclass(slots=True, weakref_slot=True, eq=False)
class Scene:
    """A namespace and names of labels.

    Selectors read the same labels of all pods with this namespace and these names.
    """

    namespace: str
    labels: tuple[str, ...]
    visible_labels: VisibleLabels


class Additions(NamedTuple):
    """Properties of a pod that other objects determine: its claims, group, tree, kept node and queue."""

    needs: VolumeNeeds = NO_NEEDS
    """Requirements of the pod's volumes."""
    devices: DeviceNeeds = ()
    """The pod's claims of devices."""
    colocation: Colocation = ANYWHERE
    """The node labels whose values all pods of the pod's group must share."""
    node: str = ""
    """The only node that the pod may go to, "" for any."""
    queue: str = ""
    """Name of the quota that the pod uses, "" for none."""
    tolerations: GivenTolerations = ()
    """The tolerations that the flavors of its queue give the pod."""
    tree: TreePlace = NO_TREE
    """The pod's place in a tree of groups."""


NO_ADDITIONS = Additions()


@dataclass(slots=True, weakref_slot=True, eq=False)
class Traits:
    """All properties that may distinguish a pod from others; equal pods share one object."""

    template: Template
    """The template that the pod's spec determines."""
    scene: Scene
    """The pod's namespace and the names of its labels."""
    values: tuple[str, ...]
    """Values of the scene's labels."""
    ending: bool
    """Whether the pod is being deleted."""
    additions: Additions
    """The properties that other objects determine."""
    task_class: int = 0
    """Number of its class, which distinguishes only what a cost model or selector reads.

    The number changes when selectors read further labels.
    """


class ClassKey(NamedTuple):
    """The properties that distinguish classes: pods with equal keys are of one class."""

    plain: Plain
    """The part of the class that the spec alone determines."""
    images: tuple[str, ...]
    """Images of the containers, if they can affect scores."""
    shown: Shown
    """The namespace and labels that cost models or selectors read."""
    additions: Additions
    """The properties that other objects determine."""

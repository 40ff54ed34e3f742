"""Keeps task classes: the parts of pods that constraints and costs read, each described once and numbered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from sys import intern
from typing import TypeAlias
from weakref import WeakValueDictionary

from poseidon.devices.needs import DeviceNeeds, add_claims
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.pod_affinity import Colocation
from poseidon.pod_rules.redundant_pod_affinity import drop_kept_terms
from poseidon.pod_rules.tolerations_from_flavors import GivenTolerations
from poseidon.pods.class_keys import NO_ADDITIONS, Additions, ClassKey, Scene, Traits
from poseidon.pods.daemon_sets import nobodys
from poseidon.pods.templates import Template, TemplateTable
from poseidon.pods.tree_place import TreePlace
from poseidon.pods.visibility import SelectorIndex, Visibility, choose_shown
from poseidon.volumes.requirements import NO_NEEDS, VolumeNeeds, add_needs
from protos.firmament.v1 import scheduler_pb2 as pb

LEAST_SURPLUS = 256
"""Number of new classes after which unused classes are searched for."""


class ClassNumbers:
    """The pod classes by number, from 1. A number is never used again after its class was forgotten."""

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
        """Whether many classes are new since ``keep_only`` was last called: at least a fourth of them, and 256."""
        return len(self._keys) >= self._look_at

    def number(self, key: ClassKey) -> int:
        """Return the number of a class; an unknown class gets a new number."""
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
            plain, images, borne, (needs, devices, colocation, node, queue, given, tree) = self._keys[number]
            message = pb.TaskClass()
            message.CopyFrom(plain.message if needs == NO_NEEDS else add_needs(plain.message, needs))
            message.id, message.queue = number, queue
            message.tolerations.extend(each.to_proto() for each in given)
            if node:
                message.machine = node
                message.never_preempts = (
                    True  # No pod is evicted for such a pod, because later it may go to other nodes, too.
                )
            message.group = tree.group
            message.never_preempts = message.never_preempts or tree.never_preempts
            if devices:
                add_claims(message, devices)
            message.images.extend(images)
            borne.add_to(message)
            if tree.kept_terms:
                drop_kept_terms(message, tree.kept_terms)
            if colocation.topology_keys and not message.invalid:
                colocation.add_to(message)
            self._messages[number] = message
        return message

    def defects(self, number: int) -> tuple[Defect, ...]:
        """Return the defects of the spec of the class's pods."""
        return self._keys[number].plain.defects

    def keep_only(self, numbers: Collection[int]) -> list[int]:
        """Remove all other classes; return their numbers."""
        gone = [number for number in self._keys if number not in numbers]
        for number in gone:
            del self._numbers[self._keys.pop(number)]
            self._messages.pop(number, None)
        self._look_at = len(self._keys) + max(LEAST_SURPLUS, len(self._keys) // 4)
        return gone


class ClassTable:
    """The numbers, from 1, of all classes, each for pods that are equal for the solver.

    Only labels that some selector reads distinguish classes. When a new pod's selector reads further labels,
    ``refresh`` gives pods that differ in these labels different classes. The table keeps a pod's traits as long as they
    are in use, and classes until ``forget_unused``. Pods of DaemonSets (``is_daemon``) get classes of their own if a
    cost model estimates use.
    """

    def __init__(
        self, visibility: Visibility | None = None, is_daemon: Callable[[Pod], bool] = nobodys
    ) -> None:
        self._visibility = visibility or Visibility()
        self._templates = TemplateTable(self._visibility, is_daemon)
        self._selector_index = SelectorIndex()
        self._observed: set[Template] = set()
        self._images: set[str] = set()
        self._heavy: dict[str, int] = {}
        self._heavier: set[str] = set()
        self._showing: set[Template] = set()
        self._scenes: WeakValueDictionary[tuple[str, tuple[str, ...]], Scene] = WeakValueDictionary()
        self._traits: WeakValueDictionary[_TraitsKey, Traits] = WeakValueDictionary()
        self._watched: dict[bytes, pb.TaskSelector] = {}
        self._numbers = ClassNumbers()

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def visibility(self) -> Visibility:
        """The data of pods and nodes that models read."""
        return self._visibility

    def traits(self, pod: Pod, *, needs: VolumeNeeds = NO_NEEDS, priority: int | None = None) -> Traits:
        """Return the traits of a pod; its ``spec.nodeName`` is not among them.

        ``needs`` are the requirements of its volumes; ``priority`` is the pod's priority if its spec does not state it.
        From now on the pod's own selectors are taken into account; for pods seen before, from the next ``refresh`` on.
        """
        template = self._templates.intern(pod, priority=priority)
        if template not in self._observed:
            self._observe(template)
        metadata, labels = pod.metadata, pod.metadata.labels
        names = tuple(sorted(labels))
        scene = self._scene(metadata.namespace or "default", names)
        values = tuple([labels[name] for name in names])
        additions = NO_ADDITIONS if needs == NO_NEEDS else Additions(needs)
        return self._intern(template, scene, values, metadata.deletion_timestamp is not None, additions)

    def watch(self, selector: pb.TaskSelector) -> None:
        """Take a selector that belongs to no pod, such as a budget's, into account from the next ``refresh`` on."""
        self._watched[selector.SerializeToString(deterministic=True)] = selector
        self._selector_index.watch(selector)

    def set_needs(self, traits: Traits, needs: VolumeNeeds) -> Traits:
        """Return the traits of the same pod with other requirements of its volumes."""
        return self._like(traits, traits.additions._replace(needs=needs))

    def set_devices(self, traits: Traits, devices: DeviceNeeds) -> Traits:
        """Return the traits of the same pod with other claims of devices."""
        return self._like(traits, traits.additions._replace(devices=devices))

    def set_colocation(self, traits: Traits, colocation: Colocation) -> Traits:
        """Return the traits of the same pod with other requirements of its group."""
        return self._like(traits, traits.additions._replace(colocation=colocation))

    def set_tree(self, traits: Traits, tree: TreePlace) -> Traits:
        """Return the traits of the same pod at another place in a tree of groups."""
        return self._like(traits, traits.additions._replace(tree=tree))

    def set_node(self, traits: Traits, node: str) -> Traits:
        """Return the traits of the same pod, restricted to one node; "" for any node."""
        return self._like(traits, traits.additions._replace(node=node))

    def set_queue(self, traits: Traits, queue: str, tolerations: GivenTolerations = ()) -> Traits:
        """Return the traits of the same pod with another quota ("" for none) and the tolerations of its flavors."""
        return self._like(traits, traits.additions._replace(queue=queue, tolerations=tolerations))

    def _like(self, traits: Traits, additions: Additions) -> Traits:
        """Return the traits of the same pod with other additions."""
        if additions == traits.additions:
            return traits
        return self._intern(traits.template, traits.scene, traits.values, traits.ending, additions)

    def intern(self, pod: Pod) -> int:
        """Return the number of a pod's class, without what other objects add; see ``traits``."""
        return self.traits(pod).task_class

    @property
    def may_have_moved(self) -> bool:
        """Whether ``refresh`` may find changes."""
        return bool(self._heavier) or self._selector_index.has_grown

    def refresh(self) -> bool:
        """Update the class numbers of all traits; return whether some have changed."""
        if not self.may_have_moved:
            return False
        grown, heavier = self._selector_index.take_grown(), self._take_heavier()
        changed = {scene for scene in self._scenes.values() if self._sees_more(scene, grown)}
        if not changed and not heavier:
            return False
        moved = False
        for traits in list(self._traits.values()):
            if traits.scene in changed or traits.template in heavier:
                former, traits.task_class = traits.task_class, self._number(traits)
                moved = moved or former != traits.task_class
        return moved

    @property
    def names_images(self) -> bool:
        """Whether ``take_images`` would return any image."""
        return bool(self._images)

    def take_images(self) -> set[str]:
        """Return the images that pods seen since the last call name."""
        images, self._images = self._images, set()
        return images

    def weigh_images(self, heavy: Mapping[str, int]) -> None:
        """Let images distinguish classes of pods with at least so many containers, from the next ``refresh`` on."""
        self._heavy.update(heavy)
        self._heavier.update(heavy)

    def message(self, number: int) -> pb.TaskClass:
        """Return the message that describes a class; it must be sent once per stream, before the class is used."""
        return self._numbers.message(number)

    def defects(self, number: int) -> tuple[Defect, ...]:
        """Return the defects of the spec of the class's pods."""
        return self._numbers.defects(number)

    @property
    def has_surplus(self) -> bool:
        """Whether so many classes are unused that removing them may be worthwhile."""
        return self._numbers.has_surplus

    def forget_unused(self) -> list[int]:
        """Remove the unused classes, if there may be many; return their numbers, which are not used again.

        Labels that only selectors of deleted pods read may be ignored from the next ``refresh`` on.
        """
        if not self.has_surplus:
            return []
        held = list(self._traits.values())
        known, self._observed = self._observed, {traits.template for traits in held}
        self._showing &= self._observed
        self._templates.keep_only(self._observed)
        named = self.images()
        self._heavy = {image: least for image, least in self._heavy.items() if image in named}
        if len(self._observed) < len(known):
            self._look_anew()
        return self._numbers.keep_only({traits.task_class for traits in held})

    def images(self) -> set[str]:
        """Return the images that known pods name."""
        return {image for template in self._observed for image in template.images}

    def _look_anew(self) -> None:
        """Drop the selectors that no pod has any more, if any."""
        selector_index = SelectorIndex()
        selector_index.observe(reads for each in self._observed for reads in each.plain.reads)
        for selector in self._watched.values():
            selector_index.watch(selector)
        if len(selector_index) < len(self._selector_index):
            selector_index.grow_everywhere()
            self._selector_index = selector_index

    def _observe(self, template: Template) -> None:
        self._observed.add(template)
        self._selector_index.observe(template.plain.reads)
        self._images.update(template.images)
        if self._shows_images(template):
            self._showing.add(template)

    def _shows_images(self, template: Template) -> bool:
        count = len(template.images)
        return any(self._heavy.get(image, count + 1) <= count for image in template.images)

    def _take_heavier(self) -> set[Template]:
        """Return the templates whose images distinguish classes from now on."""
        heavier, self._heavier = self._heavier, set()
        if not heavier:
            return set()
        found = {
            template
            for template in self._observed - self._showing
            if not heavier.isdisjoint(template.images) and self._shows_images(template)
        }
        self._showing |= found
        return found

    def _scene(self, namespace: str, names: tuple[str, ...]) -> Scene:
        scene = self._scenes.get((namespace, names))
        if scene is None:
            names = tuple([intern(name) for name in names])
            scene = Scene(namespace, names, self._selector_index.visible_labels(namespace, frozenset(names)))
            self._scenes[namespace, names] = scene
        return scene

    def _sees_more(self, scene: Scene, grown: frozenset[str] | None) -> bool:
        """Update the labels that selectors read of a scene's pods; return whether they have changed."""
        if grown is not None and scene.namespace not in grown:
            return False
        visible_labels = self._selector_index.visible_labels(scene.namespace, frozenset(scene.labels))
        changed = visible_labels != scene.visible_labels
        scene.visible_labels = visible_labels
        return changed

    def _intern(
        self,
        template: Template,
        scene: Scene,
        values: tuple[str, ...],
        ending: bool,
        additions: Additions,
    ) -> Traits:
        traits = self._traits.get((template, scene, values, ending, additions))
        if traits is None:
            # Pods often have maps of labels that no other pod has, but share the single values with many pods.
            values = tuple([intern(value) for value in values])
            traits = Traits(template, scene, values, ending, additions)
            traits.task_class = self._number(traits)
            self._traits[template, scene, values, ending, additions] = traits
        return traits

    def _number(self, traits: Traits) -> int:
        scene = traits.scene
        labels = zip(scene.labels, traits.values, strict=True)
        borne = choose_shown(
            self._visibility, scene.visible_labels, scene.namespace, labels, ending=traits.ending
        )
        # The key of a class has either all images of a pod or none, because image locality adds their weights.
        images = traits.template.images if traits.template in self._showing else ()
        return self._numbers.number(ClassKey(traits.template.plain, images, borne, traits.additions))


_TraitsKey: TypeAlias = tuple[Template, Scene, tuple[str, ...], bool, Additions]

"""Whose owner is whose, the queue that an owner names, and owners that are deleted before their pods."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.queues.options import QueueSource
from poseidon.queues.owners import OwnerKey, Owners, find_priority_class, find_reference
from poseidon.queues.queue_names import KUEUE_PRIORITY, KUEUE_QUEUE, Claimant, QueueReference

KUEUE, PRIORITY = KUEUE_QUEUE, KUEUE_PRIORITY
SOURCES: tuple[QueueSource, ...] = ("kueue",)


def meta(name: str = "p", owner: tuple[str, str, str] | None = None, **more: Any) -> ObjectMeta:
    """Metadata; ``owner``: kind, name and uid."""
    owners: tuple[OwnerReference, ...] = ()
    if owner is not None:
        kind, named, uid = owner
        owners = (OwnerReference(kind=kind, name=named, uid=uid, controller=True),)
    return ObjectMeta(name=name, namespace="ns", owner_references=owners, **more)


class Tree:
    """A Job in a JobSet."""

    def __init__(self) -> None:
        self.owners = Owners()
        self.set = self.owners.put("JobSet", "s", meta("set", uid="s", labels={KUEUE: "q", PRIORITY: "top"}))
        self.job = self.owners.put(
            "Job", "j", meta("job", ("JobSet", "set", "s"), uid="j", labels={PRIORITY: "low"})
        )

    def claimant(self, uid: str = "j", **more: Any) -> Claimant:
        given = {
            "named": (),
            "controller": OwnerReference(kind="Job", name="job", uid=uid, controller=True),
            **more,
        }
        return Claimant("ns", **given)

    def above(self, uid: str = "j") -> list[tuple[str, bool]]:
        found = self.owners.iter_above("ns", self.claimant(uid).controller)
        return [(key.name, owner is not None) for key, owner in found]


def test_owners_are_followed_upwards():
    tree = Tree()
    assert (tree.set, tree.job) == (OwnerKey("ns", "JobSet", "set"), OwnerKey("ns", "Job", "job"))
    assert tree.above() == [("job", True), ("set", True)]
    assert tree.above("") == [("job", True), ("set", True)]
    assert tree.above("other") == [("job", False)], "a namesake"
    assert list(tree.owners.iter_above("ns", None)) == []
    assert tree.owners.remove("s") == OwnerKey("ns", "JobSet", "set")
    assert tree.owners.remove("s") is None
    assert tree.above() == [("job", True), ("set", False)]


def test_owners_that_say_the_same_are_no_news():
    tree = Tree()
    job = meta("job", ("JobSet", "set", "s"), uid="j", labels={PRIORITY: "low"})
    assert tree.owners.put("Job", "j", job) is None
    changed = meta("job", ("JobSet", "set", "s"), uid="j", labels={PRIORITY: "high"})
    assert tree.owners.put("Job", "j", changed) == OwnerKey("ns", "Job", "job")
    assert tree.owners.put("Job", "again", meta("job", uid="again")) is not None
    assert tree.owners.remove("j") is None, "the late end of a namesake"


def test_a_circle_of_owners_ends():
    owners = Owners()
    owners.put("Job", "a", meta("a", ("Job", "b", "b"), uid="a"))
    owners.put("Job", "b", meta("b", ("Job", "a", "a"), uid="b"))
    reference = OwnerReference(kind="Job", name="a", uid="a", controller=True)
    assert len(list(owners.iter_above("ns", reference))) == 8


@pytest.mark.parametrize(
    ("named", "sources", "expected"),
    [
        ((), ("kueue",), ("kueue", "q")),
        ((("kueue", "own"),), ("kueue",), ("kueue", "own")),
        ((("volcano", "v"),), ("volcano", "kueue"), ("volcano", "v")),
        ((("volcano", "v"),), ("kueue", "volcano"), ("kueue", "q")),
        ((), ("volcano",), None),
        ((), ("koordinator",), ("koordinator", "")),
        ((), ("volcano", "scheduler-plugins", "koordinator"), ("scheduler-plugins", "")),
        ((("koordinator", "c"),), ("scheduler-plugins", "koordinator"), ("koordinator", "c")),
        ((), (), None),
    ],
)
def test_the_first_project_that_has_a_queue_counts(named, sources, expected):
    tree = Tree()
    found = find_reference(tree.claimant(named=named), sources, tree.owners)
    assert found == (QueueReference(expected[0], "ns", expected[1]) if expected else None)


def test_without_owners_no_owner_names_a_queue():
    tree = Tree()
    assert find_reference(tree.claimant(controller=None), ("kueue",), tree.owners) is None
    tree.owners.put("JobSet", "s", meta("set", uid="s"))
    assert find_reference(tree.claimant(), ("kueue",), tree.owners) is None


def test_the_topmost_owner_names_the_priority_unless_the_pod_does():
    tree = Tree()
    assert find_priority_class(tree.claimant(), tree.owners) == "top"
    assert find_priority_class(tree.claimant(priority_class="own"), tree.owners) == "own"
    assert find_priority_class(tree.claimant(controller=None), tree.owners) == ""
    tree.owners.put("JobSet", "s", meta("set", uid="s"))
    assert find_priority_class(tree.claimant(), tree.owners) == "low"
    tree.owners.put("Job", "j", meta("job", uid="j"))
    assert find_priority_class(tree.claimant(), tree.owners) == ""


# --- owners that are deleted before their pods -----------------------------------------------------------------------


def queue_of(tree: Tree, uid: str = "j") -> str:
    found = find_reference(tree.claimant(uid), SOURCES, tree.owners)
    return found.name if found is not None else ""


def test_a_deleted_owner_is_remembered_until_its_last_pod_is_gone():
    tree = Tree()
    for pod in ("p1", "p2"):
        tree.owners.put_pod(pod, tree.claimant())
    assert tree.owners.remove("j") == tree.job
    assert tree.owners.remove("s") == tree.set
    assert (queue_of(tree), tree.above()) == ("q", [("job", True), ("set", True)])
    assert find_priority_class(tree.claimant(), tree.owners) == "top"
    tree.owners.remove_pod("p1")
    tree.owners.put_pod("p2", tree.claimant())
    assert queue_of(tree) == "q", "one pod is left, however often it changes"
    tree.owners.remove_pod("p2")
    assert (queue_of(tree), tree.above()) == ("", [("job", False)])
    tree.owners.put_pod("late", tree.claimant())
    assert queue_of(tree) == "", "nothing is remembered that has no pods"


def test_an_owner_without_pods_is_forgotten_at_once():
    tree = Tree()
    tree.owners.remove("j")
    tree.owners.put_pod("late", tree.claimant())
    assert queue_of(tree) == ""


def test_pods_of_a_deleted_owner_are_not_in_the_queue_of_its_namesake():
    tree = Tree()
    tree.owners.put_pod("old", tree.claimant())
    tree.owners.remove("j")
    tree.owners.put("Job", "j2", meta("job", uid="j2", labels={KUEUE: "other"}))
    assert (queue_of(tree, "j"), queue_of(tree, "j2"), queue_of(tree, "j3")) == ("q", "other", "")


def test_a_newer_owner_may_be_known_before_the_older_is_deleted():
    tree = Tree()
    tree.owners.put_pod("old", tree.claimant())
    tree.owners.put("Job", "j2", meta("job", uid="j2", labels={KUEUE: "other"}))
    assert (queue_of(tree, "j"), queue_of(tree, "j2")) == ("q", "other")
    assert tree.owners.remove("j") is None
    assert (queue_of(tree, "j"), queue_of(tree, "j2")) == ("q", "other")


def test_a_pod_that_names_its_owner_without_a_uid_has_the_latest():
    tree = Tree()
    tree.owners.put_pod("p", tree.claimant(""))
    tree.owners.remove("j")
    tree.owners.put("Job", "j2", meta("job", uid="j2", labels={KUEUE: "other"}))
    assert queue_of(tree, "") == "other"
    tree.owners.put_pod("p", tree.claimant(""))
    tree.owners.remove("j2")
    assert queue_of(tree, "") == "other"


def test_the_pods_of_an_owner_are_all_below_it():
    tree = Tree()
    tree.owners.put_pod("p1", tree.claimant())
    tree.owners.put_pod("p2", tree.claimant(controller=None))
    assert tree.owners.list_pods(OwnerKey("ns", "JobSet", "set")) == ["p1"]
    assert tree.owners.list_pods(OwnerKey("ns", "Job", "job")) == ["p1"]
    tree.owners.put_pod("p1", tree.claimant(controller=None))
    tree.owners.remove_pod("unknown")
    assert tree.owners.list_pods(OwnerKey("ns", "Job", "job")) == []

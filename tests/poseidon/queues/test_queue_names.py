"""Which queue a pod or an owner names, and whose owner is whose."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Pod
from poseidon.queues.options import QueueOptions, QueueSource
from poseidon.queues.queue_names import (
    Claimant,
    OwnerKey,
    Owners,
    QueueReference,
    find_priority_class,
    find_reference,
    read_claimant,
    read_controller,
    read_kueue_queue,
)

KUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
ALL: tuple[QueueSource, ...] = ("kueue", "volcano", "kai", "koordinator", "scheduler-plugins")


def meta(name: str = "p", owner: tuple[str, str, str] | None = None, **more: Any) -> ObjectMeta:
    """Metadata; ``owner``: kind, name and uid."""
    owners: tuple[OwnerReference, ...] = ()
    if owner is not None:
        kind, named, uid = owner
        owners = (OwnerReference(kind=kind, name=named, uid=uid, controller=True),)
    return ObjectMeta(name=name, namespace="ns", owner_references=owners, **more)


def pod(**metadata: Any) -> Pod:
    return Pod(metadata=meta(**metadata))


@pytest.mark.parametrize(
    ("labels", "annotations", "named"),
    [
        ({}, {}, ()),
        ({KUEUE: "q"}, {}, (("kueue", "q"),)),
        ({}, {KUEUE: "old"}, (("kueue", "old"),)),
        ({KUEUE: "q"}, {KUEUE: "old"}, (("kueue", "q"),)),
        ({"volcano.sh/queue-name": "v"}, {}, (("volcano", "v"),)),
        ({"scheduling.volcano.sh/queue-name": "l"}, {"volcano.sh/queue-name": "a"}, (("volcano", "l"),)),
        ({"volcano.sh/queue-name": "l"}, {"volcano.sh/queue-name": "a"}, (("volcano", "a"),)),
        ({"kai.scheduler/queue": "k"}, {}, (("kai", "k"),)),
        ({"runai/queue": "r"}, {}, (("kai", "r"),)),
        ({"runai/queue": "r", "kai.scheduler/queue": "k"}, {}, (("kai", "k"),)),
        ({"quota.scheduling.koordinator.sh/name": "c"}, {}, (("koordinator", "c"),)),
    ],
)
def test_pods_name_queues_by_labels_or_annotations(labels, annotations, named):
    found = read_claimant(pod(labels=labels, annotations=annotations), ALL)
    assert found.named == named
    assert read_claimant(pod(labels=labels, annotations=annotations), ()).named == ()


def test_owners_and_priority_classes_count_only_for_kueue():
    asked = pod(owner=("Job", "j", "u"), labels={PRIORITY: "high"})
    found = read_claimant(asked, ("kueue",))
    assert found.controller is not None
    assert (found.namespace, found.controller.name, found.priority_class) == ("ns", "j", "high")
    other = read_claimant(asked, ("volcano",))
    assert (other.controller, other.priority_class) == (None, "")
    assert read_claimant(convert_object({"metadata": {"name": "p"}}, Pod), ALL).namespace == "default"


def test_the_owner_of_a_worker_is_its_set():
    label = {"leaderworkerset.sigs.k8s.io/name": "set"}
    assert read_controller(meta(labels=label)) is None
    found = read_controller(meta(labels=label, owner=("Pod", "leader", "u")))
    assert found is not None
    assert (found.kind, found.name) == ("LeaderWorkerSet", "set")
    plain = read_controller(meta(owner=("Pod", "leader", "u")))
    assert plain is not None
    assert plain.kind == "Pod"


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


def test_a_queue_is_named_by_a_label_before_an_annotation():
    assert read_kueue_queue(ObjectMeta(labels={KUEUE: ""}, annotations={KUEUE: "a"})) == "a"
    assert read_kueue_queue(ObjectMeta()) == ""


# --- options --------------------------------------------------------------------------------------------------------


def test_by_default_no_queues_are_read_and_kueue_admits():
    options = QueueOptions()
    assert (options.source, options.admission, options.fair_sharing, options.pod_set_flavors) == (
        (),
        "kueue",
        False,
        "Same",
    )
    assert options.preemption_strategies == ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    assert not options.admits


@pytest.mark.parametrize(
    ("given", "admits", "enforced"),
    [
        ({"source": "kueue"}, False, ()),
        ({"source": "kueue", "admission": "poseidon"}, True, ("kueue",)),
        ({"source": ["volcano", "kueue"]}, True, ("volcano",)),
        ({"source": ["volcano", "kueue"], "admission": "poseidon"}, True, ("volcano", "kueue")),
        ({"source": [], "admission": "poseidon"}, False, ()),
    ],
)
def test_quotas_of_kueue_are_enforced_only_where_poseidon_admits(given, admits, enforced):
    options = QueueOptions(**given)
    assert options.admits is admits
    assert {source for source in ALL if options.enforces(source)} == set(enforced)


@pytest.mark.parametrize("strategies", [[], ["LessThanInitialShare"] * 2, ["Other"]])
def test_strategies_are_named_once_each(strategies: Any):
    with pytest.raises(ValidationError):
        QueueOptions(preemption_strategies=strategies)
    assert QueueOptions(preemption_strategies=("LessThanInitialShare",)).preemption_strategies == (
        "LessThanInitialShare",
    )

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

"""What NodeAffinity proposes for a task whose labels no machine has: a correction first, then a label, then less."""

from __future__ import annotations

import pytest

from firmament.core.changes import ChangedMachine, CureKind
from firmament.core.label_levels import LabelLevels
from firmament.core.model import Machine, NodeSelectorTerm, Requirement, TaskClass
from firmament.core.rules.node_affinity import NodeAffinity, labels_that_match

LABELS = {"disk": "ssd", "example.com/pool": "memory"}


def corrections(content: TaskClass, *others: dict[str, str]) -> list[tuple[object, ...]]:
    """Rule, label before and after, and the corrected class, for a machine among others."""
    levels = LabelLevels([LABELS, *others])
    standing = ChangedMachine(content, Machine("m", {}, labels=LABELS), {}, levels)
    return [
        (step.subject, step.before, step.after, proposal.change.content or content)
        for proposal in NodeAffinity().cures(standing)
        for step in proposal.steps
        if step.kind is CureKind.CORRECT
    ]


def term(*labels: Requirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(labels=labels)


def test_an_entry_of_the_selector_is_corrected_in_its_place():
    content = TaskClass(node_selector=(("disk", "ssd"), ("example.com/pool", "memroy"), ("zone", "a")))
    assert corrections(content) == [
        (
            "nodeSelector",
            "example.com/pool=memroy",
            "example.com/pool=memory",
            TaskClass(node_selector=(("disk", "ssd"), ("example.com/pool", "memory"), ("zone", "a"))),
        )
    ]


@pytest.mark.parametrize("key", ["pool", "other.org/pool", "example.com/poool"])
def test_a_key_with_another_prefix_or_misspelt_is_meant_to_be_the_machines(key):
    [(_, before, after, _)] = corrections(TaskClass(node_selector=((key, "memory"),)))
    assert (before, after) == (f"{key}=memory", "example.com/pool=memory")


@pytest.mark.parametrize(
    ("key", "value"), [("disk", "tape"), ("example.com/pool", "memroy"), ("colour", "red")]
)
def test_what_some_machine_has_or_what_is_not_alike_is_no_mistake(key, value):
    assert corrections(TaskClass(node_selector=((key, value),)), {"example.com/pool": "memroy"}) == []


def test_a_requirement_of_a_term_is_corrected_and_its_neighbours_stay():
    first, last = Requirement("zone", "Exists", ()), Requirement("colour", "NotIn", ("red",))
    wrong = Requirement("disk", "In", ("ssdd", "tape"))
    others = term(Requirement("zone", "In", ("a",)))
    content = TaskClass(required=(others, term(first, wrong, last), others))
    right = Requirement("disk", "In", ("ssd",))
    assert corrections(content) == [
        (
            "required nodeAffinity",
            "disk=ssdd",
            "disk=ssd",
            TaskClass(required=(others, term(first, right, last), others)),
        )
    ]


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement("disk", "NotIn", ("ssdd",)),
        Requirement("disk", "In", ("ssdd", "ssd")),
        Requirement("disk", "In", ("tape",)),
        Requirement("colour", "In", ("red",)),
    ],
    ids=["not asked for", "one that there is", "not alike", "another key"],
)
def test_requirements_that_are_meant_as_they_are(requirement):
    assert corrections(TaskClass(required=(term(requirement),))) == []


HAVE = {"disk": "hdd", "zone": "a"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TaskClass(), HAVE),
        (TaskClass(node_selector=(("disk", "ssd"), ("new", "x"))), {"disk": "ssd", "zone": "a", "new": "x"}),
        (TaskClass(required=(term(Requirement("disk", "In", ("ssd", "nvme"))),)), {**HAVE, "disk": "ssd"}),
        (TaskClass(required=(term(Requirement("disk", "In", ("ssd", "hdd"))),)), HAVE),
        (TaskClass(required=(term(Requirement("disk", "In")),)), None),
        (TaskClass(required=(term(Requirement("gpu", "Exists")),)), {**HAVE, "gpu": "true"}),
        (TaskClass(required=(term(Requirement("zone", "Exists")),)), HAVE),
        (TaskClass(required=(term(Requirement("zone", "NotIn", ("a", "b"))),)), {"disk": "hdd"}),
        (TaskClass(required=(term(Requirement("zone", "NotIn", ("b",))),)), HAVE),
        (TaskClass(required=(term(Requirement("zone", "DoesNotExist")),)), {"disk": "hdd"}),
        (TaskClass(required=(term(Requirement("gpu", "DoesNotExist")),)), HAVE),
        (TaskClass(required=(term(Requirement("zone", "Gt", ("1",))),)), None),
        (TaskClass(required=(term(),)), None),
        (TaskClass(required=(NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("m",)),)),)), None),
        (
            TaskClass(
                required=(
                    term(Requirement("disk", "In", ("ssd",)), Requirement("zone", "In", ("b",))),
                    term(Requirement("zone", "Lt", ("1",))),
                    term(Requirement("disk", "In", ("nvme",))),
                )
            ),
            {**HAVE, "disk": "nvme"},
        ),
        (
            TaskClass(node_selector=(("zone", "a"),), required=(term(Requirement("zone", "In", ("b",))),)),
            None,
        ),
    ],
)
def test_labels_match_after_the_fewest_changes(content, expected):
    assert labels_that_match(content, HAVE) == expected

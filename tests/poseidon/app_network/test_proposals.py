"""What is written into AppGroups and NetworkTopologies, and what people are told: conditions, patches, notices."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.app_network.last_good_specs import LAST_GOOD, Kept
from poseidon.app_network.proposals import (
    Finding,
    Proposal,
    condition_of,
    judge_validity,
    list_notices,
    merge_conditions,
    propose,
)
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.kube.api.event_reasons import ConditionType, EventReason
from poseidon.kube.api.metadata import ObjectMeta, ObjectRef
from poseidon.kube.api.other_projects.app_network import AppGroup
from poseidon.kube.parsing.defects import Defect

KEY = ObjectKey("AppGroup", "web", "shop")
FAULT = Defect("spec.name", "is missing")
VALID, MEASURED = ConditionType.VALID, ConditionType.MEASURED


def keep(last: str = "", **parts: Any) -> Kept[AppGroup, str]:
    annotations = {LAST_GOOD: last} if last else {}
    metadata = ObjectMeta(
        name="shop", namespace="web", uid="1", resource_version="9", annotations=annotations
    )
    return Kept(KEY, AppGroup(metadata, **parts))


def test_a_spec_without_defects_is_valid():
    assert judge_validity((), in_force=False) == Finding(VALID, True, "Accepted", "the spec is in force")


@pytest.mark.parametrize(
    ("in_force", "state"), [(True, "the last good spec stays in force"), (False, "nothing is in force")]
)
def test_defects_are_named_with_what_is_in_force(in_force, state):
    found = judge_validity([FAULT], in_force=in_force)
    assert (found.type, found.holds, found.reason, found.warns) == (VALID, False, "InvalidSpec", True)
    assert found.message == f"spec.name: is missing; {state}"


def condition(kind: str, status: str, since: str, message: str = "m") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": "R", "message": message, "lastTransitionTime": since}


@pytest.mark.parametrize(
    ("before", "since"), [("True", "then"), ("False", "now"), ("", "now")], ids=["same", "other", "none"]
)
def test_a_transition_is_a_change_of_the_status(before, since):
    others = condition("Other", "True", "long ago")
    existing = [condition(VALID, before, "then"), "stray", others] if before else [others]
    found = merge_conditions(existing, [Finding(VALID, True, "Accepted", "good")], "now")
    new = {**condition(VALID, "True", since, "good"), "reason": "Accepted"}
    assert found == [others, new]


def test_conditions_that_are_no_list_count_as_none():
    assert merge_conditions("x", [Finding(VALID, False, "R", "m")], "now") == [
        condition(VALID, "False", "now")
    ]
    assert condition_of("x", VALID) == condition_of([7, {"type": MEASURED}], VALID) == {}


def test_only_what_changes_is_written():
    good = Finding(VALID, True, "R", "m")
    status = {"a": 1, "b": 2, "conditions": [condition(VALID, "True", "then")], "strange": 5}
    kept = keep(spec={"x": 1, "y": 2}, status=status)
    nothing, _ = propose(kept, [good], {"a": 1}, "now", {"x": 1})
    assert nothing.is_empty
    assert nothing == Proposal(KEY, "1", "9")
    some, _ = propose(kept, [good], {"a": 1, "b": 3}, "now", {"x": 2, "y": 2})
    assert (some.spec, some.status, some.annotations) == ({"x": 2}, {"b": 3}, None)
    assert not some.is_empty


@pytest.mark.parametrize(
    ("last", "defects", "annotations"),
    [
        ("", (), None),
        ("", (FAULT,), {LAST_GOOD: '{"name":"a"}'}),
        ('{"name":"a"}', (FAULT,), None),
        ('{"name":"a"}', (), {LAST_GOOD: None}),
    ],
)
def test_the_last_good_spec_is_noted_while_there_are_defects(last, defects, annotations):
    kept = keep(last=last, spec={}, status={"conditions": [condition(VALID, "True", "then")]})
    kept.defects, kept.written = defects, {"name": "a"}
    found, _ = propose(kept, [Finding(VALID, True, "R", "m")], {}, "now")
    assert found.annotations == annotations
    assert (found.spec, found.status) == (None, None)


def test_people_are_told_once_and_again_after_a_change():
    kept = keep(spec={})

    def tell(message: str, *, warns: bool = True) -> list[str]:
        finding = Finding(VALID, False, EventReason.INVALID_SPEC, message, warns=warns)
        return [each.message for each in list_notices(kept, [finding])]

    seen = [tell(each) for each in ("a", "a", "b", "a")]
    assert seen == [["a"], [], ["b"], ["a"]]
    assert tell("c", warns=False) == []
    assert tell("a") == ["a"]


def test_what_a_former_process_has_told_is_not_told_again():
    kept = keep(spec={}, status={"conditions": [condition(VALID, "False", "then", "a")]})
    invalid = EventReason.INVALID_SPEC
    assert list_notices(kept, [Finding(VALID, False, invalid, "a", warns=True)]) == []
    [told] = list_notices(kept, [Finding(VALID, False, invalid, "b", warns=True)])
    assert (told.key, told.uid, told.reason, told.message) == (KEY, "1", invalid, "b")
    assert told.about == ObjectRef("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup", "1", "web", "shop")


def test_proposals_that_differ_in_times_alone_want_the_same():
    def want(time: str, count: int) -> bytes:
        return Proposal(
            KEY, "1", "9", status={"conditions": [condition(VALID, "True", time)], "n": count}
        ).wanted

    assert want("a", 1) == want("b", 1) != want("a", 2)

"""Reasons: kube-scheduler's words and severities, and what the solver decides by them."""

from __future__ import annotations

import pytest

from firmament.core.model import Taint
from firmament.core.reasons import (
    Cause,
    CuredBy,
    Reason,
    Severity,
    Stage,
    StatedReason,
    by_limit,
    by_task,
    explain_untolerated,
    format_number,
    lack_of,
    lacks_only_room,
    of_volume,
    order_reasons,
)

KUBE_SCHEDULER = {
    # pkg/scheduler/framework/plugins of Kubernetes 1.34, by plugin in the order of its filters.
    "NodeUnschedulable": [(Reason.CORDONED, "node(s) were unschedulable", False)],
    "NodeName": [(Reason.WRONG_NAME, "node(s) didn't match the requested node name", False)],
    "TaintToleration": [(Reason.UNTOLERATED, "node(s) had untolerated taint(s)", False)],
    "NodeAffinity": [
        (Reason.WRONG_LABELS, "node(s) didn't match Pod's node affinity/selector", False),
        (Reason.NOT_NAMED, "node(s) didn't satisfy plugin(s) [NodeAffinity]", False),
    ],
    "NodePorts": [
        (Reason.PORTS_TAKEN, "node(s) didn't have free ports for the requested pod ports", True),
    ],
    "NodeResourcesFit": [
        (Reason.TOO_MANY, "Too many pods", True),
        (Reason.INSUFFICIENT, "Insufficient", True),
    ],
    "VolumeRestrictions": [
        (Reason.NO_DISK, "node(s) had no available disk", True),
        (
            Reason.CLAIM_IN_USE,
            (
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
                "already in-use by another pod"
            ),
            True,
        ),
    ],
    "NodeVolumeLimits": [(Reason.TOO_MANY_VOLUMES, "node(s) exceed max volume count", True)],
    "VolumeBinding": [
        (Reason.WRONG_VOLUMES, "node(s) didn't match PersistentVolume's node affinity", False),
        (Reason.NO_VOLUME_LEFT, "node(s) didn't find available persistent volumes to bind", False),
        (Reason.NO_STORAGE, "node(s) did not have enough free storage", False),
    ],
    "PodTopologySpread": [
        (Reason.SKEWED, "node(s) didn't match pod topology spread constraints", True),
        (
            Reason.NO_DOMAIN,
            "node(s) didn't match pod topology spread constraints (missing required label)",
            False,
        ),
    ],
    "InterPodAffinity": [
        (Reason.NOT_NEAR, "node(s) didn't match pod affinity rules", False),
        (Reason.TOO_NEAR, "node(s) didn't match pod anti-affinity rules", True),
        (Reason.KEPT_OFF, "node(s) didn't satisfy existing pods anti-affinity rules", True),
    ],
    "NodeDeclaredFeatures": [(Reason.WRONG_FEATURES, "node(s) didn't match Pod's required features", False)],
}
OF_OUR_OWN = {Reason.NOT_READY, Reason.RESERVED}
KNOWN = [each for found in KUBE_SCHEDULER.values() for each in found]


@pytest.mark.parametrize(("reason", "words", "curable"), KNOWN, ids=[each[0].name for each in KNOWN])
def test_words_and_severity_are_those_of_kube_scheduler(reason: Reason, words: str, curable: bool):
    assert reason.value == words
    assert Cause(reason).curable is curable
    severity = Severity.UNSCHEDULABLE if curable else Severity.UNRESOLVABLE
    assert reason.severity is severity


def test_no_reason_is_left_out_and_none_has_the_words_of_another():
    assert {each[0] for each in KNOWN} | OF_OUR_OWN == set(Reason)
    assert len({each.value for each in Reason}) == len(Reason)


def test_details_follow_the_words():
    assert Cause(Reason.UNTOLERATED, "{a: b}").words == "node(s) had untolerated taint(s) {a: b}"
    assert Cause(Reason.UNTOLERATED, "{a: b}").summary == Reason.UNTOLERATED.value
    assert lack_of("cpu").summary == "Insufficient cpu"


def test_only_lacks_of_resources_are_about_room():
    room = [lack_of(name) for name in ("cpu", "pods", "example.com/gpu")]
    assert lacks_only_room(room)
    for resource in ("attachable-volumes-csi-d", "available-volumes-local"):
        assert not lacks_only_room([*room, lack_of(resource)])
    assert not lacks_only_room([*room, Cause(Reason.CORDONED)])
    assert not lacks_only_room([Cause(StatedReason("Insufficient goodwill"))]), "words decide nothing"
    assert by_limit("full").cured_by is CuredBy.OTHERS


@pytest.mark.parametrize(
    ("words", "in_use", "stage", "severity"),
    [
        ("", False, Stage.VOLUMES, Severity.UNRESOLVABLE),
        (Reason.NO_VOLUME_LEFT.value, False, Stage.VOLUMES, Severity.UNRESOLVABLE),
        (Reason.CLAIM_IN_USE.value, True, Stage.IN_USE, Severity.UNSCHEDULABLE),
        (Reason.CLAIM_IN_USE.value, False, Stage.VOLUMES, Severity.UNRESOLVABLE),
        (Reason.WRONG_FEATURES.value, False, Stage.FEATURES, Severity.UNRESOLVABLE),
        ("node(s) were far from the disk", False, Stage.VOLUMES, Severity.UNRESOLVABLE),
        ("node(s) were far from the disk", True, Stage.IN_USE, Severity.UNSCHEDULABLE),
    ],
)
def test_words_that_come_with_a_volume_become_a_reason(
    words: str, in_use: bool, stage: Stage, severity: Severity
):
    reason = of_volume(words, in_use=in_use)
    assert (reason.value, reason.stage, reason.severity) == (
        words or Reason.WRONG_VOLUMES.value,
        stage,
        severity,
    )


# --- sentences --------------------------------------------------------------------------------------------------------


def test_reasons_are_sorted_as_text_that_begins_with_the_number():
    assert order_reasons([("b", 2), ("z", 10), ("a", 2)]) == [("z", 10), ("a", 2), ("b", 2)]


def test_numbers_and_nouns():
    assert [format_number(count, "node") for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_what_is_lacking_by_resource():
    assert lack_of("pods") == Cause(Reason.TOO_MANY)
    assert lack_of("cpu") == Cause(Reason.INSUFFICIENT, "cpu")
    assert lack_of("attachable-volumes-x") == Cause(Reason.TOO_MANY_VOLUMES)
    assert lack_of("available-volumes-x") == Cause(Reason.NO_VOLUME_LEFT)
    assert explain_untolerated(Taint("k", "v", "NoSchedule")) == Cause(Reason.UNTOLERATED, "{k: v}")


def test_reasons_in_the_words_of_their_source():
    limit, task, plain = by_limit("full"), by_task("bad"), StatedReason("said")
    assert (limit.text, limit.stage, limit.severity, limit.of_task) == (
        "full", Stage.MODELS, Severity.UNSCHEDULABLE, False,
    )  # fmt: skip
    assert (task.text, task.stage, task.severity) == ("bad", Stage.NAMED, Severity.UNRESOLVABLE)
    assert (task.cured_by, task.of_task) == (CuredBy.CHANGE, True)
    assert (plain.stage, plain.severity) == (Stage.MODELS, Severity.UNRESOLVABLE)
    assert (plain.cured_by, plain.of_task) == (CuredBy.OTHERS, False)
    assert Cause(plain).words == Cause(plain).summary == "said"
    assert not Cause(plain).curable
    assert Cause(limit).curable
    assert lacks_only_room([])


def test_stages_are_in_the_order_of_kube_schedulers_filters():
    assert [each.name for each in sorted(Stage)] == [
        "NAMED", "NODE", "PORTS", "RESOURCES", "IN_USE", "ATTACHMENTS", "VOLUMES", "RULES", "FEATURES", "MODELS",
    ]  # fmt: skip


def test_a_volume_that_is_said_nothing_of_while_in_use_is_of_its_stage():
    found = of_volume("", in_use=True)
    assert (found.text, found.stage) == (Reason.WRONG_VOLUMES.value, Stage.IN_USE)
    assert (found.severity, found.cured_by) == (Severity.UNSCHEDULABLE, CuredBy.OTHERS)
    other = of_volume("far", in_use=False)
    assert other.cured_by is CuredBy.CHANGE

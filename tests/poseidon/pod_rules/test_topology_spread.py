"""Topology spread constraints as rules."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.task_classes import class_content

WEB = {"matchLabels": {"app": "web"}}
HARD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
SOFT = {**HARD, "whenUnsatisfiable": "ScheduleAnyway"}


def make(*constraints: Any, labels: Any = None) -> Pod:
    metadata = {"name": "p", "namespace": "shop", "labels": labels or {}}
    spec = {"containers": [{}], "topologySpreadConstraints": list(constraints)}
    return convert_object({"metadata": metadata, "spec": spec}, Pod)


def rule(constraint: Any, **more: Any) -> pb.SpreadRule:
    message, defects = class_content(make(constraint, **more))
    assert not defects
    (found,) = message.spread
    return found


APP = pb.TaskSelector(labels=[pb.Requirement(key="app", operator="In", values=["web"])], namespaces=["shop"])


def test_defaults():
    assert rule(HARD) == pb.SpreadRule(topology_key="zone", selector=APP, max_skew=1, required=True)
    assert rule({**SOFT, "maxSkew": 3}) == pb.SpreadRule(topology_key="zone", selector=APP, max_skew=3)


def test_policies_and_domains():
    found = rule({**HARD, "minDomains": 4, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"})
    assert (found.min_domains, found.ignore_node_affinity, found.honor_taints) == (4, True, True)
    same = rule({**HARD, "minDomains": 1, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"})
    assert same == rule(HARD)


def test_selectors():
    assert rule({**HARD, "labelSelector": None}).selector == pb.TaskSelector(nothing=True)
    merged = rule({**HARD, "matchLabelKeys": ["hash", "gone"]}, labels={"hash": "1"})
    assert [each.key for each in merged.selector.labels] == ["app", "hash"]


def test_an_empty_selector_counts_no_pod():
    nobody = pb.TaskSelector(nothing=True)
    assert rule({**HARD, "labelSelector": {}}).selector == nobody
    keys = {**HARD, "labelSelector": {}, "matchLabelKeys": ["hash"]}
    assert rule(keys).selector == nobody  # the pod has no such label, so nothing is added
    added = rule(keys, labels={"hash": "1"}).selector
    assert not added.nothing
    assert [each.key for each in added.labels] == ["hash"]


def test_both_kinds_may_share_a_key():
    message, defects = class_content(make(HARD, SOFT))
    assert not defects
    assert len(message.spread) == 2


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ([{**HARD, "maxSkew": 0}], "[0].maxSkew", "0 is out of range"),
        ([{**HARD, "maxSkew": 2**31}], "[0].maxSkew", "out of range"),
        ([{**HARD, "topologyKey": ""}], "[0].topologyKey", "empty"),
        ([{**HARD, "topologyKey": "a b"}], "[0].topologyKey", "not a label key"),
        ([{**HARD, "whenUnsatisfiable": "Never"}], "[0].whenUnsatisfiable", "unknown value 'Never'"),
        ([{**SOFT, "minDomains": 2}], "[0].minDomains", "only whenUnsatisfiable: DoNotSchedule"),
        ([{**HARD, "minDomains": 0}], "[0].minDomains", "0 is out of range"),
        ([{**HARD, "nodeAffinityPolicy": "Maybe"}], "[0].nodeAffinityPolicy", "use Honor or Ignore"),
        ([{**HARD, "nodeTaintsPolicy": "Maybe"}], "[0].nodeTaintsPolicy", "unknown policy 'Maybe'"),
        ([HARD, SOFT, {**HARD, "maxSkew": 2}], "[2].topologyKey", "given twice"),
        ([{**HARD, "matchLabelKeys": ["app"]}], "[0].matchLabelKeys[0]", "labelSelector as well"),
        ([{**HARD, "labelSelector": None, "matchLabelKeys": ["a"]}], "[0].matchLabelKeys", "labelSelector"),
    ],
)
def test_defects_name_the_field(given, field, words):
    message, defects = class_content(make(*given))
    assert [each.field for each in defects] == [f"spec.topologySpreadConstraints{field}"]
    assert words in defects[0].problem
    assert message.invalid
    assert not message.spread


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"maxSkew": 2**31 - 1}, None),
        ({"maxSkew": 2**31}, "maxSkew"),
        ({"maxSkew": 0}, "maxSkew"),
        ({"minDomains": 2**31 - 1}, None),
        ({"minDomains": 2**31}, "minDomains"),
        ({"minDomains": 0}, "minDomains"),
    ],
)
def test_the_numbers_of_a_constraint_are_those_that_the_api_takes(given, fault):
    _, defects = class_content(make({**HARD, **given}))
    field = f"spec.topologySpreadConstraints[0].{fault}"
    assert [each.field for each in defects] == ([field] if fault else [])

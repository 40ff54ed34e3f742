"""Where a volume can be reached, and what suits a claim, against the simulated cluster's own assessment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.parsing.defects import Defect
from poseidon.testbed.controllers.node_rules import is_fit, is_reached
from poseidon.volumes.matching import HOSTNAME, holds, list_hosts, reaches, suits
from poseidon.volumes.records import claim_record, volume_record
from poseidon.volumes.requirements import volume_rules
from tests.poseidon.volumes.objects import typed
from tests.support import storage
from tests.support.effort import examples

KEYS = st.sampled_from(["a", "b", HOSTNAME])
WORDS = st.sampled_from(["1", "2", "x"])
REQUIREMENTS = st.one_of(
    st.fixed_dictionaries(
        {
            "key": KEYS,
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(WORDS, min_size=1, max_size=2),
        }
    ),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Gt", "Lt"]), "values": st.just(["1"])}),
)
FIELDS = st.fixed_dictionaries(
    {"key": st.just("metadata.name"), "operator": st.just("In"), "values": st.sampled_from([["n"], ["m"]])}
)
TERMS = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(REQUIREMENTS, max_size=2),
        "matchFields": st.lists(FIELDS, max_size=1),
    },
)
LABELS = st.dictionaries(KEYS, WORDS)


@given(terms=st.lists(TERMS, min_size=1, max_size=2), labels=LABELS)
def test_reach(terms, labels):
    value = storage.volume("v", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    defects: list[Defect] = []
    rules = volume_rules(typed(value), defects)
    assert not defects
    found = reaches(rules, "n", labels)
    assert found == is_reached(value, {"metadata": {"name": "n", "labels": labels}})
    named = list_hosts(rules)
    if found and named is not None:
        assert labels[HOSTNAME] in named


@pytest.mark.parametrize(
    ("operator", "with_value", "with_another", "without"),
    [
        ("In", True, False, False),
        ("NotIn", False, True, True),
        ("Exists", True, True, False),
        ("DoesNotExist", False, False, True),
        ("Sometimes", False, False, False),
    ],
)
def test_which_labels_satisfy_an_operator(operator, with_value, with_another, without):
    found = [holds(("a", operator, ("x", "y")), labels) for labels in ({"a": "y"}, {"a": "z"}, {"b": "x"})]
    assert found == [with_value, with_another, without]


@pytest.mark.parametrize(
    ("operator", "value", "bound", "expected"),
    [
        *(("Gt", value, "5", value == "6") for value in ("4", "5", "6", "five")),
        *(("Lt", value, "5", value == "4") for value in ("4", "5", "6", "five")),
        ("Gt", "6", "five", False),
        ("Lt", "-1", "0", True),
    ],
)
def test_comparisons_are_of_integers_and_strict(operator, value, bound, expected):
    assert holds(("a", operator, (bound,)), {"a": value}) is expected
    assert not holds(("a", operator, (bound,)), {})
    assert not holds(("a", operator, ()), {"a": value})


MODES = st.sets(st.sampled_from(["ReadWriteOnce", "ReadOnlyMany"]), min_size=1).map(sorted).map(tuple)
SIZES = st.sampled_from(["1Gi", "2Gi", "2G", "1"])
SELECTORS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={"matchLabels": LABELS, "matchExpressions": st.lists(REQUIREMENTS, max_size=1)},
    ),
)


@settings(max_examples=examples(200))
@given(
    labels=LABELS,
    selector=SELECTORS,
    sizes=st.tuples(SIZES, SIZES),
    modes=st.tuples(MODES, MODES),
    kinds=st.tuples(*[st.sampled_from(["", "Filesystem", "Block"])] * 2),
    classes=st.tuples(*[st.sampled_from(["", "", "gold"])] * 2),
)
def test_fit(labels, selector, sizes, modes, kinds, classes):
    more = [
        {"volumeMode": kind, "volumeAttributesClassName": each}
        for kind, each in zip(kinds, classes, strict=True)
    ]
    value = storage.volume("v", labels=labels, size=sizes[0], modes=modes[0], **more[0])
    spec = {**more[1], **({"selector": selector} if selector is not None else {})}
    wanted = storage.claim("c", size=sizes[1], modes=modes[1], **spec)
    record, profile = volume_record(typed(value), {}), claim_record(typed(wanted)).profile
    assert record.unclaimed is not None
    assert profile is not None
    assert suits(record.unclaimed, profile) == is_fit(value, wanted)


def test_zone_labels_of_old_volumes():
    """As kube-scheduler's VolumeZone: former names stand for the present ones, and unlabelled machines pass."""
    key = "failure-domain.beta.kubernetes.io/zone"
    rules = volume_rules(typed(storage.volume("v", labels={key: "a__b"})), [])
    machines = {
        "there": {key: "a"},
        "there too": {storage.ZONE: "b"},
        "elsewhere": {key: "c"},
        "elsewhere by its present name": {storage.ZONE: "c"},
        "former name first": {key: "c", storage.ZONE: "a"},
        "another region": {"topology.kubernetes.io/region": "r"},
        "nowhere": {"a": "1"},
    }
    assert {name for name, labels in machines.items() if reaches(rules, name, labels)} == {
        "there",
        "there too",
        "nowhere",
    }

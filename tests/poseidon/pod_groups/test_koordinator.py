"""Koordinator's gangs as pods and PodGroups state them: names, numbers, times, and gangs that go together."""

from __future__ import annotations

import json

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.pod_groups.koordinator import (
    MOST_GANGS,
    NO_TERMS,
    GangTerms,
    gang_name,
    gang_terms,
    least_members,
    list_bundled_gangs,
    list_ignored_terms,
    waiting_seconds,
)

PREFIX = "gang.scheduling.koordinator.sh/"
LABEL = "pod-group.scheduling.sigs.k8s.io"


def meta(labels: dict[str, str] | None = None, **annotations: str) -> ObjectMeta:
    named = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in annotations.items()}
    return ObjectMeta(labels=labels or {}, annotations=named)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        (meta(), ""),
        (meta(name="c"), "c"),
        (meta({f"{LABEL}/name": "b"}, name="c"), "b"),
        (meta({LABEL: "a", f"{LABEL}/name": "b"}, name="c"), "a"),
        (meta({LABEL: ""}, name="c"), "c"),
    ],
)
def test_the_label_names_the_gang_before_the_annotation(metadata, name):
    assert gang_name(metadata) == name


def test_terms_are_read_from_labels_and_annotations():
    assert gang_terms(meta()) == NO_TERMS
    found = gang_terms(
        meta(
            min_available="2",
            waiting_time="1m",
            mode="Strict",
            match_policy="p",
            network_topology_spec="t",
            groups="[]",
        )
    )
    assert found == GangTerms("2", f"annotation {PREFIX}min-available", "1m", "Strict", "p", "t", "[]")
    labelled = gang_terms(meta({f"{LABEL}/min-available": "3"}, min_available="2"))
    assert (labelled.least, labelled.least_key) == ("3", f"label {LABEL}/min-available")
    empty = gang_terms(meta(min_available=""))
    assert (empty.least, empty.least_key) == ('""', f"annotation {PREFIX}min-available")
    other = gang_terms(ObjectMeta(annotations={f"{LABEL}/match-policy": "o"}))
    assert other.policy == "o"


@pytest.mark.parametrize(
    ("stated", "most"),
    [
        ([], None),
        ([""], None),
        (["2"], 2),
        (["2", "", "11", "3"], 11),
        (["+2"], 2),
        (["1"], 1),
        ([str(2**31 - 1)], 2**31 - 1),
    ],
)
def test_the_largest_stated_number_counts(stated, most):
    assert least_members([GangTerms(each, "annotation x") for each in stated]) == (most, "")


@pytest.mark.parametrize("stated", ["0", "-1", "two", str(2**31), "1" * 11, '""'])
def test_other_numbers_are_a_problem(stated):
    shown = stated if stated == '""' else repr(stated)
    problem = f"annotation x: {shown} is no number of pods; give at least 1"
    assert least_members([GangTerms(stated, "annotation x")]) == (None, problem)


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([], 0.0),
        ([""], 0.0),
        (["90s", "1m"], 90.0),
        (["1h2m3s"], 3723.0),
        (["1.5s"], 1.5),
        ([".5m"], 30.0),
        (["250ms"], 0.25),
        (["2us"], 2e-6),
        (["2µs"], 2e-6),
        (["5ns"], 5e-9),
        (["0s"], 0.0),
        (["1m soon"], 0.0),
        (["600000h"], 0.0),
        (["90"], 0.0),
        ([" 1s"], 0.0),
        (["1s" * 32], 32.0),
        (["1s" * 33], 0.0),
    ],
)
def test_the_longest_stated_time_counts(times, seconds):
    assert waiting_seconds([GangTerms(waiting_time=each) for each in times]) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("groups", "own", "gangs"),
    [
        ("", "ns/a", ()),
        ("  ", "ns/a", ()),
        ("[]", "ns/a", ()),
        ('["ns/a"]', "ns/a", ()),
        ('["ns/b", "ns/a"]', "ns/a", ("ns/a", "ns/b")),
        ('["ns/b", "ns/b"]', "ns/a", ("ns/a", "ns/b")),
    ],
)
def test_gangs_that_go_together_are_sorted_and_contain_the_gang_itself(groups, own, gangs):
    assert list_bundled_gangs(GangTerms(groups=groups), own) == (gangs, "")


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("odd", "'odd' is no list of gangs"),
        ("[5]", "'[5]' is no list of gangs"),
        ('["a"]', "'a' is no gang"),
        ('["a/b/c"]', "'a/b/c' is no gang"),
        ('["a/b+c"]', "'a/b+c' is no gang"),
        (json.dumps([f"ns/{index}" for index in range(MOST_GANGS + 1)]), "65 gangs are more than 64"),
    ],
)
def test_other_lists_are_a_problem(groups, words):
    found = list_bundled_gangs(GangTerms(groups=groups), "ns/a")
    assert found == ((), f'annotation {PREFIX}groups: {words}; give ["namespace/name", ...]')


def test_as_many_gangs_as_possible_go_together():
    groups = json.dumps([f"ns/{index}" for index in range(MOST_GANGS)])
    gangs, problem = list_bundled_gangs(GangTerms(groups=groups), "ns/0")
    assert (len(gangs), problem) == (MOST_GANGS, "")


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (GangTerms(waiting_time="1m", mode="NonStrict", policy="once-satisfied"), ""),
        (GangTerms(policy="waiting-and-running", mode="Strict"), ""),
        (
            GangTerms(waiting_time="soon"),
            f"annotation {PREFIX}waiting-time: 'soon' is no duration, and the configured time-out holds",
        ),
        (GangTerms(mode="odd"), f"annotation {PREFIX}mode: 'odd' is no mode, and counts as Strict"),
        (
            GangTerms(policy="only-waiting"),
            f"annotation {PREFIX}match-policy: 'only-waiting' is not honoured: members that run count as well",
        ),
        (
            GangTerms(topology="{}"),
            (
                f"annotation {PREFIX}network-topology-spec: is not honoured; use a topology group, or a PodGroup of "
                "Kubernetes"
            ),
        ),
    ],
)
def test_terms_that_are_not_supported_are_said_once(terms, said):
    assert list_ignored_terms([terms, terms._replace(least="2")]) == said

"""Who allows a pod to be moved."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.rescheduling.initial_cluster import Permission
from tests.poseidon.bridge.objects import pod

KEY = "firmament.io/reschedule"


def namespace(said):
    return Namespace(metadata=ObjectMeta(name="default", labels={KEY: said} if said else {}))


def asked(said, annotation):
    permission = Permission([namespace(said)])
    found = pod("p")
    if annotation:
        found = replace(found, metadata=replace(found.metadata, annotations={KEY: annotation}))
    return permission.allows(found), permission.faults


@pytest.mark.parametrize(
    ("said", "annotation", "allowed"),
    [
        ("", "", False),
        ("allow", "", True),
        ("deny", "", False),
        ("", "allow", True),
        ("allow", "deny", False),
        ("deny", "allow", True),
    ],
)
def test_pods_go_before_namespaces_and_silence_is_no(said, annotation, allowed):
    assert asked(said, annotation) == (allowed, [])


def test_what_makes_no_sense_allows_nothing_and_is_told():
    assert asked("yes", "") == (
        False,
        [
            "namespace default: label firmament.io/reschedule is 'yes'; write allow or deny; no pod of it moves"
        ],
    )
    assert asked("allow", "True") == (
        False,
        [
            "pod default/p: annotation firmament.io/reschedule is 'True'; write allow or deny; no pod of it moves"
        ],
    )

"""Claims and volumes that name each other are bound, unless somebody else has them, or they were held apart."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.storage import PersistentVolume
from tests.poseidon.manifests.test_volume_controllers import bound, held
from tests.support.storage import claim, storage_class, volume


def reserved(name: str = "v", **reference: str) -> dict[str, Any]:
    made = volume(name, storage_class="manual")
    made["spec"]["claimRef"] = {"name": "c", "namespace": "default", **reference}
    return made


def naming(volume_name: str = "v", **options: Any) -> dict[str, Any]:
    """Return a claim that names its volume, and is not marked as bound."""
    made = claim("c", storage_class="manual", **options)
    made["spec"]["volumeName"] = volume_name
    return made


@pytest.mark.parametrize(
    ("wanted", "given", "name"),
    [
        (claim("c", storage_class="manual"), reserved(), "v"),
        (claim("c", storage_class="manual"), reserved(name="v", namespace="elsewhere"), None),
        (claim("c", storage_class="other"), reserved(), "v"),
        (claim("c", storage_class="manual", size="9Gi"), reserved(), None),
        (naming(), volume("v", storage_class="manual"), "v"),
        (naming(), reserved(), "v"),
        (naming(size="9Gi"), volume("v", storage_class="manual"), None),
        (naming("gone"), volume("v", storage_class="manual"), None),
        (held(naming()), held(volume("v", storage_class="manual")), None),
        (held(naming()), volume("v", storage_class="manual"), "v"),
        (naming(), held(volume("v", storage_class="manual")), "v"),
        (held(claim("c", storage_class="manual")), held(reserved()), None),
        (held(claim("c", storage_class="manual")), held(volume("v", storage_class="manual")), None),
    ],
)
def test_who_is_bound_to_whom(load, wanted, given, name):
    found = load(storage_class("manual", provisioner="kubernetes.io/no-provisioner"), wanted, given)
    assert bound(found) == {"c": name}


def test_a_volume_that_names_another_claim_is_not_for_those_that_name_it(load):
    theirs = volume("v", storage_class="manual")
    theirs["spec"]["claimRef"] = {"name": "other", "namespace": "default"}
    assert bound(load(naming(), theirs)) == {"c": None}


def test_a_bound_volume_says_for_whom_it_is(load):
    found = load(claim("c", storage_class="manual"), volume("v", storage_class="manual"))
    [made] = [each for each in found.storage if isinstance(each, PersistentVolume)]
    assert made.spec.claim_ref is not None
    assert (made.spec.claim_ref.kind, made.spec.claim_ref.namespace, made.spec.claim_ref.name) == (
        "PersistentVolumeClaim",
        "default",
        "c",
    )
    assert made.status.phase == "Bound"


def test_a_volume_is_given_to_one_claim_alone(load):
    found = load(
        claim("c", storage_class="manual"),
        claim("d", storage_class="manual"),
        volume("v", storage_class="manual"),
    )
    assert sorted(bound(found).values(), key=str) == [None, "v"]

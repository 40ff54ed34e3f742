"""Records of storage objects by name: what refers to what, and which changes matter."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.volumes.catalogue import Catalogue
from poseidon.volumes.claims import Users
from poseidon.volumes.matching import implies, list_hosts, suits
from poseidon.volumes.records import (
    Claim,
    Profile,
    UnclaimedVolume,
    claim_record,
    conditions_of,
    provision_record,
    storage_bytes,
    volume_record,
)
from tests.poseidon.volumes.objects import typed
from tests.support import storage

UNCLAIMED = UnclaimedVolume("fast", "", 10, ("ReadWriteMany", "ReadWriteOnce"), "Filesystem", {"disk": "ssd"})
PROFILE = Profile("fast", "", 10, ("ReadWriteOnce",), "Filesystem", (("disk", "In", ("ssd",)),))


def put_claim(catalogue: Catalogue, name: str, uid: str = "", **options: Any) -> str:
    uid = uid or f"uid-{name}"
    return catalogue.put_claim(uid, typed(storage.claim(name, **options), uid))


def put_volume(catalogue: Catalogue, name: str, **options: Any) -> None:
    catalogue.put_volume(f"uid-{name}", typed(storage.volume(name, **options), f"uid-{name}"))


def test_a_claim_is_known_by_its_key_and_only_changes_are_news():
    catalogue = Catalogue()
    assert put_claim(catalogue, "c") == "default/c"
    assert put_claim(catalogue, "c") == ""
    assert put_claim(catalogue, "c", size="2Gi") == "default/c"
    assert catalogue.claim("default/c") is not None
    assert catalogue.put_claim("unknown", None) == ""
    assert catalogue.put_claim("uid-c", None) == "default/c"
    assert catalogue.claim("default/c") is None


def test_a_late_end_of_a_namesake_is_no_news():
    catalogue = Catalogue()
    put_claim(catalogue, "c", "old")
    put_claim(catalogue, "c", "new")
    assert catalogue.put_claim("old", None) == ""
    assert (found := catalogue.claim("default/c")) is not None
    assert found.uid == "new"


def test_which_claims_name_a_volume():
    catalogue = Catalogue()
    put_claim(catalogue, "a", volumeName="v")
    put_claim(catalogue, "b", volume="v")
    put_claim(catalogue, "c")
    assert catalogue.claims_naming("v") == {"default/a", "default/b"}
    put_claim(catalogue, "a", volumeName="w")
    assert catalogue.claims_naming("v") == {"default/b"}
    assert catalogue.claims_naming("w") == {"default/a"}
    catalogue.put_claim("uid-b", None)
    assert catalogue.claims_naming("v") == set()


def test_the_volume_for_a_claim_names_it():
    catalogue = Catalogue()
    put_claim(catalogue, "c")
    found = catalogue.claim("default/c")
    assert found is not None
    assert catalogue.volume_for(found) is None
    for name in ("w", "v"):
        put_volume(catalogue, name, to="default/c")
    put_volume(catalogue, "u", to="default/other")
    assert (chosen := catalogue.volume_for(found)) is not None
    assert chosen.name == "v"
    catalogue.put_volume("uid-v", None)
    assert (chosen := catalogue.volume_for(found)) is not None
    assert chosen.name == "w"
    put_volume(catalogue, "w")
    assert catalogue.volume_for(found) is None


@pytest.mark.parametrize(("uid", "given"), [("uid-c", True), ("other", False), ("", True)])
def test_a_volume_that_names_a_claim_by_uid_is_for_no_namesake(uid, given):
    catalogue = Catalogue()
    put_claim(catalogue, "c")
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": uid}
    put_volume(catalogue, "v", claimRef=reference)
    found = catalogue.claim("default/c")
    assert found is not None
    assert (catalogue.volume_for(found) is not None) is given


def test_changes_of_volumes_and_classes_come_with_what_was_before():
    catalogue = Catalogue()
    first = typed(storage.volume("v"), "u")
    before, after = catalogue.put_volume("u", first)
    assert before is None
    assert after is not None
    assert catalogue.put_volume("u", None) == (after, None)
    assert catalogue.put_volume("u", None) == (None, None)
    fast = typed(storage.storage_class("fast"), "s")
    assert catalogue.put_provision("s", fast) == "fast"
    assert catalogue.put_provision("s", fast) == ""
    assert catalogue.put_provision("s", typed(storage.storage_class("fast", waits=False), "s")) == "fast"
    assert catalogue.put_provision("s", None) == "fast"
    assert catalogue.put_provision("s", None) == ""
    assert catalogue.provision("fast") is None


def test_drivers_state_their_capacity_or_not():
    catalogue = Catalogue()
    assert not catalogue.put_driver("u", "")
    assert catalogue.put_driver("u", "d")
    assert not catalogue.put_driver("u", "d")
    assert catalogue.states_capacity("d")
    assert catalogue.put_driver("u", "e")
    assert not catalogue.states_capacity("d")
    assert catalogue.put_driver("u", "")
    assert not catalogue.states_capacity("e")


@pytest.mark.parametrize(
    ("options", "storage_class", "unbound"),
    [({}, "fast", True), ({}, "slow", False), ({"volume": "v"}, "fast", False)],
)
def test_unbound_claims_of_a_class(options, storage_class, unbound):
    catalogue = Catalogue()
    put_claim(catalogue, "c", **options)
    assert catalogue.is_unbound_of("default/c", storage_class) is unbound
    assert not catalogue.is_unbound_of("default/none", storage_class)


# --- users ----------------------------------------------------------------------------------------------------------


def test_users_of_a_claim_come_and_go():
    users = Users()
    assert users.list_users("c") == set()
    users.add("c", "a")
    users.add("c", "a")
    assert users.list_users("c") == {"a"}
    assert not users.has_several("c")
    users.remove("c", "other")
    assert users.list_users("c") == {"a"}
    users.add("c", "b")
    users.add("c", "d")
    assert users.list_users("c") == {"a", "b", "d"}
    assert users.has_several("c")
    users.remove("c", "a")
    users.remove("c", "d")
    assert users.list_users("c") == {"b"}
    assert not users.has_several("c")
    users.remove("c", "b")
    assert users.list_users("c") == set()
    users.add("c", "e")
    users.remove("c", "e")
    users.remove("c", "e")
    assert users.list_users("c") == set()


# --- records --------------------------------------------------------------------------------------------------------


def record(**options: Any) -> Claim:
    return claim_record(typed(storage.claim("c", **options), "u"))


def test_a_claim_without_volume_says_what_it_accepts():
    selector = {
        "matchLabels": {"disk": "ssd"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}],
    }
    found = record(
        size="1Ki",
        modes=("ReadWriteMany", "ReadOnlyMany"),
        selector=selector,
        volumeAttributesClassName="gold",
    )
    assert found.profile == Profile(
        "fast",
        "gold",
        1024,
        ("ReadOnlyMany", "ReadWriteMany"),
        "Filesystem",
        (("a", "In", ("x", "y")), ("disk", "In", ("ssd",))),
    )
    assert (found.bound, found.lost, found.deleting, found.exclusive) == (False, False, False, False)
    assert (found.volume, found.selected_node, found.owner) == ("", "", "")
    assert record(volumeMode="Block").profile != record().profile


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"volume": "v"}, True),
        ({"volumeName": "v"}, False),
        ({"volumeName": "v", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, True),
        ({"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, False),
    ],
)
def test_a_claim_is_bound_if_it_names_its_volume_and_the_binding_is_complete(options, bound):
    found = record(**options)
    assert found.bound is bound
    assert (found.profile is None) is bound


def test_what_else_is_read_of_a_claim():
    assert record(modes=("ReadWriteOncePod",)).exclusive
    node = {"volume.kubernetes.io/selected-node": "n1"}
    assert record(annotations=node).selected_node == "n1"
    assert record(annotations=node, volume="v").selected_node == ""
    assert record(owner="p").owner == "p"
    assert record(annotations={"volume.beta.kubernetes.io/storage-class": "old"}).storage_class == "old"
    assert record(storage_class=None).storage_class == ""


def test_a_volume_is_to_be_had_unless_it_is_given_going_or_used_up():
    def offered(**options: Any) -> bool:
        made = storage.volume("v", **options)
        made["status"]["phase"] = options.pop("phase", made["status"]["phase"])
        return volume_record(typed(made, "u"), {}).unclaimed is not None

    assert offered()
    assert not offered(to="default/c")
    for phase, good in (("Available", True), ("Failed", False), ("Released", False), ("Pending", True)):
        made = storage.volume("v")
        made["status"]["phase"] = phase
        assert (volume_record(typed(made, "u"), {}).unclaimed is not None) is good
    going = storage.volume("v")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert volume_record(typed(going, "u"), {}).unclaimed is None


def test_a_volume_offers_what_it_states():
    found = volume_record(typed(storage.volume("v", size="1Ki", labels={"disk": "ssd"}), "u"), {})
    assert found.unclaimed == UnclaimedVolume(
        "fast", "", 1024, ("ReadWriteOnce",), "Filesystem", {"disk": "ssd"}
    )
    assert (found.claim, found.claim_uid, found.driver, found.defect) == ("", "", "", "")
    given = volume_record(typed(storage.volume("v", to="ns/c", driver="d"), "u"), {})
    assert (given.claim, given.driver) == ("ns/c", "d")


@pytest.mark.parametrize(
    ("options", "waits", "dynamic", "driver"),
    [
        ({}, True, True, "disk.example.com"),
        ({"waits": False}, False, True, "disk.example.com"),
        ({"provisioner": "kubernetes.io/no-provisioner"}, True, False, "kubernetes.io/no-provisioner"),
        ({"provisioner": ""}, True, False, ""),
        ({"provisioner": "kubernetes.io/aws-ebs"}, True, True, "ebs.csi.aws.com"),
    ],
)
def test_what_a_class_makes(options, waits, dynamic, driver):
    found = provision_record(typed(storage.storage_class(**options), "u"))
    assert (found.waits, found.dynamic, found.driver, found.topology) == (waits, dynamic, driver, b"")
    assert provision_record(typed(storage.storage_class(topologies=[("zone", ["a"])]), "u")).topology


@pytest.mark.parametrize(("quantity", "found"), [(None, None), ("1Ki", 1024), (5, 5), ("much", None)])
def test_amounts_of_storage_are_bytes(quantity, found):
    assert storage_bytes(quantity) == found


def test_no_selector_has_no_conditions():
    assert conditions_of(None) == ()


# --- matching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"storage_class": "slow"}, False),
        ({"attributes_class": "gold"}, False),
        ({"size": 11}, False),
        ({"size": 9}, True),
        ({"volume_mode": "Block"}, False),
        ({"modes": ("ReadWriteOnce", "ReadWriteMany")}, True),
        ({"modes": ("ReadOnlyMany",)}, False),
        ({"conditions": (("disk", "In", ("hdd",)),)}, False),
        ({"conditions": ()}, True),
    ],
)
def test_a_volume_suits_a_claim_in_every_respect(change, good):
    fields = {name: getattr(PROFILE, name) for name in PROFILE.__dataclass_fields__}
    assert suits(UNCLAIMED, Profile(**{**fields, **change})) is good


@pytest.mark.parametrize(
    ("change", "implied"),
    [
        ({}, True),
        ({"storage_class": "slow"}, False),
        ({"attributes_class": "gold"}, False),
        ({"size": 9}, True),
        ({"size": 11}, False),
        ({"volume_mode": "Block"}, False),
        ({"modes": ()}, True),
        ({"modes": ("ReadWriteOnce", "ReadWriteMany")}, False),
        ({"conditions": ()}, True),
        ({"conditions": (*PROFILE.conditions, ("a", "Exists", ()))}, False),
    ],
)
def test_a_wider_profile_is_implied(change, implied):
    fields = {name: getattr(PROFILE, name) for name in PROFILE.__dataclass_fields__}
    assert implies(PROFILE, Profile(**{**fields, **change})) is implied


def test_profiles_have_resources_of_their_own():
    assert PROFILE.resource.startswith("available-volumes-fast-")
    assert (
        PROFILE.resource
        != Profile("fast", "", 11, ("ReadWriteOnce",), "Filesystem", PROFILE.conditions).resource
    )


def test_rules_that_name_hosts_are_local():
    def rules(**options: Any) -> tuple[bytes, ...]:
        return volume_record(typed(storage.volume("v", **options), "u"), {}).rules

    assert sorted(list_hosts(rules(at=("kubernetes.io/hostname", ["n1", "n2"]))) or ()) == ["n1", "n2"]
    assert list_hosts(rules(at=("zone", ["a"]))) is None
    assert list_hosts(()) is None

"""What the simulated API server checks and completes by kind: names, specs, generations and statuses."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.objects.custom_resources import definition, resources_of, validate
from poseidon.testbed.objects.errors import ApiError, Cause, invalid
from poseidon.testbed.objects.resources import (
    BUILTIN,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    ResourceType,
    collection_spec,
)
from poseidon.testbed.objects.store import Store
from poseidon.testbed.objects.strategies import (
    check_patched,
    check_shape,
    prepare_create,
    prepare_status_update,
    prepare_update,
)

BY_PLURAL = {each.plural: each for each in BUILTIN}
LEASES, BUDGETS = BY_PLURAL["leases"], BY_PLURAL["poddisruptionbudgets"]
CLAIMS = BY_PLURAL["resourceclaims"]


@pytest.fixture
def store() -> Store:
    return Store(clock=lambda: 0.0, seed=1)


def made(resource: ResourceType, store: Store, *, keep: bool = False, **parts: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "x"}, **parts}
    prepare_create(resource, obj, store, keep_status=keep)
    return obj


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "Node"}, "must be of type Pod): got None, Kind=Node; send v1, Kind=Pod"),
        ({"apiVersion": "v2"}, "got v2, Kind=None"),
        ({"kind": "Pod", "metadata": {"labels": {"a": 1}}}, "Pod in version v1 cannot be handled as a Pod: "),
        ([], "cannot be handled as a Pod"),
    ],
)
def test_an_object_of_another_shape_is_not_understood(given, message):
    with pytest.raises(ApiError) as refused:
        check_shape(PODS, given)
    assert refused.value.code == 400
    assert message in refused.value.message


def test_metadata_is_made_if_it_is_missing():
    assert check_shape(PODS, {}) == {"metadata": {}}
    given = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}
    assert check_shape(PODS, given) is given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the patched object is not a Pod: metadata is missing"),
        ({"metadata": []}, "the patched object is not a Pod: Expected"),
        ({"metadata": {"name": 5}}, "the patched object is not a Pod: Expected"),
        (7, "the patched object is not a Pod: Expected"),
    ],
)
def test_a_patch_must_leave_an_object(given, message):
    with pytest.raises(ApiError) as refused:
        check_patched(PODS, given)
    assert refused.value.code == 422
    assert message in refused.value.message
    assert check_patched(PODS, {"metadata": {}}) == {"metadata": {}}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "metadata.name: Required value: name or generateName is required"),
        ("A", 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ("-a", 'Invalid value: "-a"'),
        ("a.", 'Invalid value: "a."'),
        ("a" * 254, "Invalid value"),
        ("a" * 253, ""),
        ("a-1.b", ""),
        ("0", ""),
    ],
)
def test_names_are_subdomains(name, message, store):
    obj = {"metadata": {"name": name}}
    if not message:
        prepare_create(NAMESPACES, obj, store)
        return
    with pytest.raises(ApiError) as refused:
        prepare_create(NAMESPACES, obj, store)
    assert refused.value.code == 422
    assert message in refused.value.message


TIME = "2026-01-01T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("resource", "spec", "fields"),
    [
        (LEASES, {}, []),
        (LEASES, {"leaseDurationSeconds": 1, "leaseTransitions": 0, "holderIdentity": "a"}, []),
        (LEASES, {"acquireTime": TIME, "renewTime": TIME}, []),
        (LEASES, {"leaseDurationSeconds": 0}, ["spec.leaseDurationSeconds"]),
        (LEASES, {"leaseDurationSeconds": True}, ["spec.leaseDurationSeconds"]),
        (LEASES, {"leaseDurationSeconds": "5"}, ["spec.leaseDurationSeconds"]),
        (LEASES, {"leaseTransitions": -1}, ["spec.leaseTransitions"]),
        (LEASES, {"acquireTime": "2026-01-01T12:00:00"}, ["spec.acquireTime"]),
        (LEASES, {"acquireTime": "x", "renewTime": 5}, ["spec.acquireTime", "spec.renewTime"]),
        (LEASES, {"holderIdentity": ""}, ["spec.holderIdentity"]),
        (BUDGETS, {"minAvailable": 0}, []),
        (BUDGETS, {"minAvailable": "100%"}, []),
        (BUDGETS, {"maxUnavailable": "0%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}, []),
        (BUDGETS, {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}, []),
        (BUDGETS, {"minAvailable": 1, "maxUnavailable": 1}, ["spec"]),
        (BUDGETS, {"minAvailable": "101%"}, ["spec.minAvailable"]),
        (BUDGETS, {"maxUnavailable": "5"}, ["spec.maxUnavailable"]),
        (BUDGETS, {"maxUnavailable": -1}, ["spec.maxUnavailable"]),
        (BUDGETS, {"maxUnavailable": 1.5}, ["spec.maxUnavailable"]),
        (BUDGETS, {"unhealthyPodEvictionPolicy": "Always"}, ["spec.unhealthyPodEvictionPolicy"]),
    ],
)
def test_every_faulty_field_of_a_spec_is_named(resource, spec, fields, store):
    if not fields:
        assert made(resource, store, spec=spec)["spec"] == spec
        return
    with pytest.raises(ApiError) as refused:
        made(resource, store, spec=spec)
    assert refused.value.code == 422
    assert [each["field"] for each in refused.value.details["causes"]] == fields


def test_a_refusal_names_the_object_by_what_it_has():
    cause = Cause("spec", "FieldValueInvalid", "odd")
    refused = invalid("Pod", "", "a", [cause])
    assert refused.message == 'Pod "a" is invalid: spec: odd'
    assert refused.details is not None
    assert {key: refused.details.get(key) for key in ("name", "group", "kind")} == {
        "name": "a", "group": None, "kind": "Pod"
    }  # fmt: skip
    both = invalid("Lease", "coordination.k8s.io", "b", [cause, Cause("", "FieldValueInvalid", "more")])
    assert both.message == 'Lease.coordination.k8s.io "b" is invalid: [spec: odd, more]'
    assert both.details is not None
    assert both.details["group"] == "coordination.k8s.io"
    assert [each["reason"] for each in both.details["causes"]] == ["FieldValueInvalid"] * 2


def test_a_new_object_has_no_fields_of_the_servers(store):
    metadata = {"name": "x", "deletionTimestamp": TIME, "deletionGracePeriodSeconds": 1, "managedFields": []}
    obj: dict[str, Any] = {
        "metadata": {**metadata, "selfLink": "s", "labels": {"a": "b"}},
        "status": {"phase": "Running"},
    }
    obj["spec"] = {"containers": [{"name": "main"}], "priority": 0}
    store.add_collection(collection_spec(PRIORITY_CLASSES))
    prepare_create(PODS, obj, store)
    assert obj["metadata"] == {"name": "x", "labels": {"a": "b"}, "generation": 1}
    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_node_keeps_its_status_and_gets_the_amounts_that_it_leaves_out(store):
    def status(**given: Any) -> Any:
        return made(NODES, store, status=given)["status"]

    assert status(capacity={"cpu": "4"}) == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}
    assert status(allocatable={"cpu": "3"}) == {"capacity": {"cpu": "3"}, "allocatable": {"cpu": "3"}}
    both = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}
    assert status(**both) == both
    assert made(NODES, store) == {"metadata": {"name": "x", "generation": 1}, "spec": {}, "status": {}}


def test_a_namespace_is_active_and_has_its_name_as_a_label(store):
    obj: dict[str, Any] = {
        "metadata": {"name": "team", "labels": {"a": "b"}},
        "spec": {"finalizers": ["mine"]},
    }
    prepare_create(NAMESPACES, obj, store)
    assert obj["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "team"}
    assert (obj["spec"], obj["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


def test_only_seeds_set_statuses_of_new_objects(store):
    given = {"disruptionsAllowed": 2}
    assert made(BUDGETS, store, spec={}, status=given)["status"] == {}
    assert made(BUDGETS, store, keep=True, spec={}, status=given)["status"] == given
    namespace = made(NAMESPACES, store, keep=True, status={"more": 1})
    assert namespace["status"] == {"phase": "Active", "more": 1}


def test_an_update_keeps_the_servers_fields_and_counts_changed_specs():
    before: dict[str, Any] = {
        "metadata": {"name": "x", "uid": "u", "generation": 3, "creationTimestamp": TIME},
        "spec": {"minAvailable": 1},
        "status": {"disruptionsAllowed": 2},
    }

    def update(**parts: Any) -> dict[str, Any]:
        stray = {"name": "y", "uid": "other", "namespace": "n", "managedFields": [], "labels": {"a": "b"}}
        obj = {"metadata": stray, "spec": {"minAvailable": 1}, **parts}
        prepare_update(BUDGETS, obj, before)
        return obj

    same, other = update(status={}), update(spec={"minAvailable": 2})
    kept = {"name": "x", "uid": "u", "creationTimestamp": TIME, "labels": {"a": "b"}}
    assert same == {
        "metadata": {**kept, "generation": 3},
        "spec": {"minAvailable": 1},
        "status": {"disruptionsAllowed": 2},
    }
    assert other["metadata"] == {**kept, "generation": 4}
    assert before["metadata"]["generation"] == 3


def test_a_status_update_changes_the_status_alone():
    before = {"metadata": {"name": "x"}, "spec": {"minAvailable": 1}, "status": {"a": 1}}
    written = {"metadata": {"name": "y"}, "spec": {}, "status": {"b": 2}}
    assert prepare_status_update(BUDGETS, written, before) == {**before, "status": {"b": 2}}
    assert prepare_status_update(BUDGETS, {}, before) == {"metadata": {"name": "x"}, "spec": before["spec"]}


def claim_status(*names: str, reports: tuple[str, ...] = ()) -> dict[str, Any]:
    def entry(name: str) -> dict[str, str]:
        return {"driver": "d", "pool": "p", "device": name}

    status: dict[str, Any] = {"allocation": {"devices": {"results": [entry(each) for each in names]}}}
    if reports:
        status["devices"] = [entry(each) for each in reports]
    return {"status": status}


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (claim_status("a", "b", reports=("a", "b")), ["a", "b"]),
        (claim_status("a", reports=("a", "b")), ["a"]),
        (claim_status("c", reports=("a", "b")), []),
        (claim_status("a", reports=("a", "c")), ["a", "c"]),
    ],
)
def test_reports_on_devices_go_with_the_devices(after, left):
    found = prepare_status_update(CLAIMS, after, claim_status("a", "b"))
    assert [each["device"] for each in found["status"].get("devices", ())] == left
    assert ("devices" in found["status"]) == bool(left)
    assert found["status"]["allocation"] == after["status"]["allocation"]


def changed(**spec: Any) -> dict[str, Any]:
    found = definition("example.com", "v1", "things", "Thing")
    found["spec"] |= spec
    return found


TWO = [{"name": "v1", "storage": True}, {"name": "v2", "storage": True}]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (changed(group=""), "spec.group: Required value"),
        (changed(scope=None), "spec.scope: Required value"),
        (changed(scope="Galaxy"), 'spec.scope: Unsupported value: "Galaxy"'),
        (changed(names=[]), "[spec.names.plural: Required value, spec.names.kind: Required value]"),
        (changed(versions=[]), "spec.versions: Required value"),
        (changed(versions=[{"served": True}]), "spec.versions: Required value"),
        (changed(versions=TWO), "must have exactly one version marked as storage version"),
        (changed(versions=[{"name": "v1"}]), "must have exactly one version marked as storage version"),
        (changed(group="example.org"), 'Invalid value: "things.example.com": must be spec.names.plural'),
    ],
)
def test_a_definition_that_cannot_be_served_is_refused(found, message):
    with pytest.raises(ApiError) as refused:
        validate(found)
    assert refused.value.code == 422
    assert message in refused.value.message


def test_each_served_version_of_a_definition_is_a_resource(store):
    versions = [
        {"name": "v1", "served": True, "subresources": {"status": {}}},
        {"name": "v2", "served": True, "storage": True},
        {"name": "v0"},
    ]
    found = changed(versions=versions, scope="Cluster")
    prepare_create(CUSTOM_RESOURCE_DEFINITIONS, found, store)
    first, second = resources_of(found)
    assert (first.api_version, first.has_status, first.namespaced) == ("example.com/v1", True, False)
    assert (second.api_version, second.has_status, second.custom) == ("example.com/v2", False, True)
    assert first.storage_version == second.storage_version == "example.com/v2"
    assert (first.singular, first.short_names, first.collection) == ("thing", (), "things.example.com")
    status = found["status"]
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert status["storedVersions"] == ["v2"]
    assert status["acceptedNames"]["listKind"] == "ThingList"


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"schedulerName": "other"}, "pod updates may not change fields"),
        ({"containers": [{"name": "main", "image": "new"}]}, ""),
    ],
)
def test_pods_are_checked_when_they_change(change, refused, store):
    store.add_collection(collection_spec(PRIORITY_CLASSES))
    before = made(PODS, store, spec={"containers": [{"name": "main", "image": "old"}]})
    obj: dict[str, Any] = {
        "metadata": {"name": "x"},
        "spec": {"containers": before["spec"]["containers"], **change},
    }
    if refused:
        with pytest.raises(ApiError, match=refused):
            prepare_update(PODS, obj, before)
        return
    prepare_update(PODS, obj, before)
    image = {"containers": [{"name": "main", "image": "new", "resources": {}}]}
    assert obj["spec"] == {**before["spec"], **image}
    assert obj["metadata"]["generation"] == 2


def test_a_pod_without_containers_and_a_bad_definition_are_not_created(store):
    with pytest.raises(ApiError, match=r"spec\.containers: Required value"):
        made(PODS, store, spec={})
    with pytest.raises(ApiError, match=r"spec\.versions: Required value"):
        prepare_create(CUSTOM_RESOURCE_DEFINITIONS, changed(versions=[]), store)
    good = definition("example.com", "v1", "things", "Thing")
    with pytest.raises(ApiError, match=r"spec\.versions: Required value"):
        prepare_update(CUSTOM_RESOURCE_DEFINITIONS, changed(versions=[]), good)

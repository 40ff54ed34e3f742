"""Groups of one name in several namespaces are several groups; an object without namespace is in ``default``."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.group import new_group
from poseidon.pod_groups.group_names import (
    JOB_SET_DOMAIN,
    KUEUE_GROUP_LABEL,
    NATIVE_POD_GROUP,
    POD_GROUP,
    find_domain_group,
    find_membership,
    gang_key,
    kueue_group,
)
from poseidon.pod_groups.groups import Groups
from tests.poseidon.pod_groups.objects import native, pod, pod_group

NAMESPACES = pytest.mark.parametrize(("stated", "namespace"), [("shop", "shop"), ("", "default")])


def within(namespace: str, found: Any) -> Any:
    return replace(found, metadata=replace(found.metadata, namespace=namespace))


def noted(found: Pod, *, labels: Any = None, annotations: Any = None) -> Pod:
    metadata = replace(found.metadata, labels=labels or {}, annotations=annotations or {})
    return replace(found, metadata=metadata)


@NAMESPACES
@pytest.mark.parametrize(
    ("kind", "source", "member"),
    [
        (POD_GROUP, pod_group("train", 2), pod("a", group="train")),
        (NATIVE_POD_GROUP, native("train", 2), pod("a", native="train")),
    ],
)
def test_a_pod_is_in_the_group_of_its_own_namespace(stated, namespace, kind, source, member):
    groups = Groups()
    groups.put_source(kind, "elsewhere", within("elsewhere", source))
    group = groups.put_pod("pod-a", within(stated, member))
    assert group is not None
    assert (group.member.source.namespace, group.member.source.name) == (namespace, "train")
    assert groups.waits_for(group), "the one elsewhere is another"
    groups.put_source(kind, "here", within(stated, source))
    groups.put_source(kind, "here", within(stated, source))
    groups.take_changes()
    assert groups.waits_for(group) == ""
    assert groups.job(group).namespace == namespace


@NAMESPACES
def test_groups_that_pods_name_by_labels_and_annotations_are_in_their_namespace(stated, namespace):
    plain = within(stated, pod("a", owner="web"))
    queued = kueue_group(noted(plain, labels={KUEUE_GROUP_LABEL: "g"}))
    assert queued is not None
    assert (queued.source.namespace, queued.source.name) == (namespace, "g")
    assert gang_key(plain).namespace == namespace
    shared = find_membership(within(stated, pod("a", share="50", owner="web")))
    assert shared is not None
    assert shared.source.namespace == namespace
    [owner] = plain.metadata.owner_references
    job = replace(plain, metadata=replace(plain.metadata, owner_references=(replace(owner, kind="Job"),)))
    domain = find_domain_group(noted(job, annotations={JOB_SET_DOMAIN: "zone"}))
    assert domain is not None
    assert domain.source.namespace == namespace


@NAMESPACES
def test_owners_are_named_with_the_namespace_of_the_pod(stated, namespace):
    found = within(stated, pod("a", group="train", owner="web"))
    member = find_membership(found)
    assert member is not None
    assert new_group(member, found).owners == f"{namespace}/web"

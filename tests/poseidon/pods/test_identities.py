"""Things that several texts tell apart get texts of their own, whatever those texts are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.pod_groups.group_names import (
    NATIVE_POD_GROUP,
    POD_GROUP,
    SIGS_POD_GROUP,
    TOPOLOGY_GROUP,
    VOLCANO_POD_GROUP,
    WORKLOAD,
    YUNIKORN,
    Membership,
    ObjectKey,
    make_bundle,
)
from poseidon.pods.tasks import job_id, join_parts, parts_of

words = st.text(alphabet="a/%2F", max_size=4)
parts = st.lists(words, min_size=1, max_size=5)
namespaces = st.sampled_from(["victim", "evil"])
kinds = st.sampled_from(
    [POD_GROUP, WORKLOAD, NATIVE_POD_GROUP, TOPOLOGY_GROUP, SIGS_POD_GROUP, VOLCANO_POD_GROUP, YUNIKORN]
)
bundles = st.sets(
    st.builds("{}/{}".format, namespaces, st.text(alphabet="a-.", min_size=1, max_size=3)),
    min_size=2,
    max_size=4,
).map(lambda gangs: make_bundle(tuple(sorted(gangs))))
members = st.builds(
    Membership,
    st.builds(ObjectKey, kinds, namespaces, words),
    words,
    words,
    share=st.just(""),
    gangs=st.just(()),
    whole=st.just(False),
    domain=st.just(""),
)


def owned(namespace, kind, name, uid):
    reference = OwnerReference(kind=kind, name=name, uid=uid, controller=True)
    return ObjectMeta(namespace=namespace, owner_references=(reference,))


@given(parts, parts)
def test_other_parts_give_another_text(some, others):
    assert (join_parts(*some) == join_parts(*others)) is (some == others)
    assert parts_of(join_parts(*some)) == some


@given(st.one_of(members, bundles), st.one_of(members, bundles))
def test_no_two_groups_share_a_job(one, other):
    assert (one.job == other.job) is (one == other)


@given(members, st.one_of(words, members.map(lambda each: each.job)), words, words)
def test_no_owner_has_the_job_of_a_group(member, uid, kind, name):
    assert job_id(owned("evil", kind, name, uid)) != member.job


def test_an_owner_means_nothing_in_another_namespace():
    assert job_id(owned("evil", "ReplicaSet", "web", "u")) != job_id(
        owned("victim", "ReplicaSet", "web", "u")
    )


def test_what_would_be_too_long_is_told_by_a_digest():
    long = join_parts("Owner", "ns", "Job", "name", "u" * 5000)
    assert len(long) < 100
    assert long.startswith("Owner/")
    assert long == join_parts("Owner", "ns", "Job", "name", "u" * 5000)
    assert long != join_parts("Owner", "ns", "Job", "name", "u" * 5001)
    assert len(join_parts("o" * 5000, "\ud800")) < 1024

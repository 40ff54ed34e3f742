"""Whether a pod is really of a DaemonSet, although anybody may write that it is."""

from __future__ import annotations

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod
from poseidon.pods.daemon_sets import DaemonSets, find_daemon_set, nobodys


def owned(namespace: str = "shop", **owner) -> Pod:
    reference = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True, **owner,
    }  # fmt: skip
    return convert_object(
        {"metadata": {"name": "p", "namespace": namespace, "ownerReferences": [reference]}}, Pod
    )


def known(namespace: str = "shop", uid: str = "u") -> DaemonSets:
    found = DaemonSets()
    found.put("u", ObjectMeta(name="agent", namespace=namespace, uid=uid))
    return found


@pytest.mark.parametrize(
    ("pod", "owns"),
    [
        (owned(), True),
        (owned(uid=""), True),
        (owned(uid="other"), False),
        (owned(namespace="other"), False),
        (owned(name="other"), False),
        (owned(kind="ReplicaSet"), False),
        (owned(controller=False), False),
        (owned(apiVersion=""), True),
        (owned(apiVersion="apps/v2"), True),
        (owned(apiVersion="evil.example.com/v1"), False),
        (convert_object({"metadata": {"name": "p", "namespace": "shop"}}, Pod), False),
    ],
)
def test_only_a_known_daemon_set_of_the_namespace_owns_a_pod(pod, owns):
    assert known().owns(pod) is owns
    assert not DaemonSets().owns(pod)


def test_a_daemon_set_without_a_uid_is_known_by_its_name():
    assert known(uid="").owns(owned(uid="any"))


def test_no_namespace_is_the_default_one_for_both():
    assert known(namespace="").owns(owned(namespace="default"))
    assert known(namespace="default").owns(owned(namespace=""))


def test_a_daemon_set_that_is_gone_owns_nothing_unless_another_has_its_name():
    found = known()
    found.remove("unknown")
    assert found.owns(owned())
    found.remove("u")
    assert not found.owns(owned())
    found.put("u", ObjectMeta(name="agent", namespace="shop", uid="u"))
    found.put("v", ObjectMeta(name="agent", namespace="shop", uid="v"))
    found.remove("u")
    assert found.owns(owned(uid="v"))
    found.remove("v")
    assert not found.owns(owned(uid="v"))


def test_a_pod_says_which_daemon_set_it_is_of():
    found = find_daemon_set(owned())
    assert found is not None
    assert found.name == "agent"
    assert find_daemon_set(owned(kind="Job")) is None
    assert nobodys(owned()) is False

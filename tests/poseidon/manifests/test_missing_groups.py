"""Objects that pods and groups name and the input lacks: one line for each kind, with what follows from it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod
from poseidon.manifests.missing_references import warn_of_missing_app_groups, warn_of_missing_daemon_sets
from tests.poseidon.manifests.objects import owner, pod

APP_GROUP = "appgroup.diktyo.x-k8s.io"


def typed(name: str, **options: Any) -> Pod:
    return msgspec.convert(pod(name, **options), Pod)


def of_group(name: str, group: str, phase: str = "Pending") -> Pod:
    return typed(name, labels={APP_GROUP: group} if group else {}, phase=phase)


def test_app_groups_that_pods_name_are_missing_unless_known():
    pods = [
        of_group("a", "web"),
        of_group("b", "db"),
        of_group("c", "web"),
        of_group("d", ""),
        of_group("e", "shop"),
    ]
    [line] = warn_of_missing_app_groups(pods, ["shop/shop"])
    assert line.startswith(
        "Pod shop/a and 2 more: AppGroup shop/db, shop/web are not in the input, so its pods count as any; "
    )
    assert "appgroups.appgroup.diktyo.x-k8s.io" in line
    assert list(warn_of_missing_app_groups(pods[:1], ["shop/web"])) == []
    assert list(warn_of_missing_app_groups([of_group("a", "web", "Succeeded")], [])) == []
    [line] = warn_of_missing_app_groups(pods[:1], ["elsewhere/web"])
    assert " is not in the input" in line


def of_daemon_set(name: str, owned_by: str, phase: str = "Running") -> Pod:
    return typed(name, owners=owner("DaemonSet", owned_by), phase=phase)


def test_daemon_sets_that_own_pods_are_missing_unless_known():
    pods = [
        of_daemon_set("a", "agent"),
        of_daemon_set("b", "agent"),
        of_daemon_set("c", "log"),
        of_daemon_set("d", "gone", "Failed"),
        of_daemon_set("e", "known"),
        typed("f", owners=owner("ReplicaSet", "web")),
    ]
    known = [ObjectMeta(name="known", namespace="shop")]
    what = "is not in the input, thresholds of use hold as for any pod; add it with -f"
    assert list(warn_of_missing_daemon_sets(pods, known)) == [
        f"Pod shop/a and 1 more: metadata.ownerReferences: DaemonSet shop/agent {what}",
        f"Pod shop/c: metadata.ownerReferences: DaemonSet shop/log {what}",
    ]


def gang(name: str, namespace: str = "shop") -> dict[str, Any]:
    made = pod("p-" + name, labels={"scheduling.x-k8s.io/pod-group": name}, phase="Pending")
    made["metadata"]["namespace"] = namespace
    return made


@pytest.mark.parametrize(("groups", "names"), [(["a"], "shop/a is"), (["b", "a"], "shop/a, shop/b are")])
def test_groups_that_pods_name_are_missing(groups, names):
    from poseidon.api import plan

    found = plan([gang(each) for each in groups], config=None)
    [line] = [each for each in found.warnings if "PodGroup" in each]
    assert f"PodGroup {names} not in the input, so its pods wait; " in line
    assert "podgroups" in line

"""Commands that carry out cures: to be copied, so each is a whole line of kubectl's."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec
import pytest

from poseidon.kube.api.pods import Pod
from poseidon.offline.audit.commands import commands
from poseidon.offline.audit.findings import CureStep, format_quantity

GIB = 2**30


def made(owner: str = "Deployment", **spec: Any) -> Pod:
    metadata: dict[str, Any] = {"name": "web-0", "namespace": "shop"}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "web", "uid": "u", "controller": True}]
    container = {"name": "c", "resources": {"requests": {"memory": "4Gi", "cpu": 1}}}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [container], **spec}}, Pod)


def patched(command: str) -> list[dict[str, Any]]:
    """The operations of a command that patches the Deployment."""
    *words, content = shlex.split(command)
    assert words == ["kubectl", "-n", "shop", "patch", "deployment/web", "--type=json", "-p"]
    found: list[dict[str, Any]] = json.loads(content)
    return found


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (CureStep("label-node", "disk", "n1", None, "ssd"), "kubectl label node n1 disk=ssd"),
        (CureStep("label-node", "disk", "n1", "hdd", "ssd"), "kubectl label node n1 disk=ssd --overwrite"),
        (CureStep("label-node", "disk", "n1", "hdd", None), "kubectl label node n1 disk-"),
        (CureStep("annotate-node", "a.b/c", "n1", None, "x"), "kubectl annotate node n1 a.b/c=x"),
        (
            CureStep("annotate-node", "a.b/c", "n1", "x", "x,y"),
            "kubectl annotate node n1 a.b/c=x,y --overwrite",
        ),
        (CureStep("annotate-node", "a.b/c", "n1", "x", None), "kubectl annotate node n1 a.b/c-"),
        (CureStep("uncordon-node", "", "n1", None, None), "kubectl uncordon n1"),
        (
            CureStep("lower-request", "memory", "", 4 * GIB, 2 * GIB),
            "kubectl -n shop set resources deployment/web -c c --requests=memory=2Gi",
        ),
        (
            CureStep("fewer-replicas", "", "", 5, 3),
            "kubectl -n shop scale deployment/web --replicas=3",
        ),
    ],
)
def test_steps_with_commands_of_their_own(step: CureStep, command: str):
    assert commands(made(), [step]) == (command,)


def test_templates_are_patched():
    root = "/spec/template/spec"
    tolerate = CureStep("tolerate", "gpu=yes:NoSchedule", "", None, None)
    (command,) = commands(made(), [tolerate])
    toleration = {"key": "gpu", "operator": "Equal", "effect": "NoSchedule", "value": "yes"}
    assert patched(command) == [{"op": "add", "path": f"{root}/tolerations", "value": [toleration]}]
    (command,) = commands(made(tolerations=[{"key": "x"}]), [tolerate])
    assert patched(command) == [{"op": "add", "path": f"{root}/tolerations/-", "value": toleration}]
    (command,) = commands(made(), [CureStep("correct-selector", "nodeSelector", "", "a/s=x", "a/s=y")])
    assert patched(command) == [{"op": "replace", "path": f"{root}/nodeSelector/a~1s", "value": "y"}]
    (command,) = commands(
        made(), [CureStep("drop-constraint", "topologySpreadConstraint by zone", "", 1, None)]
    )
    assert patched(command) == [{"op": "remove", "path": f"{root}/topologySpreadConstraints/1"}]
    (command,) = commands(made(), [CureStep("widen-rule", "topologySpreadConstraint by zone", "", 1, 2)])
    wider = {"op": "replace", "path": f"{root}/topologySpreadConstraints/1/maxSkew", "value": 2}
    assert patched(command) == [wider]
    (command,) = commands(made(), [CureStep("widen-rule", "required podAffinity by rack", "", 0, "zone")])
    terms = f"{root}/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution"
    assert patched(command) == [{"op": "replace", "path": f"{terms}/0/topologyKey", "value": "zone"}]


def test_a_deployment_is_patched_and_not_its_replica_set():
    pod = made("ReplicaSet")
    metadata = msgspec.structs.replace(
        pod.metadata,
        labels={"pod-template-hash": "abc"},
        owner_references=(msgspec.structs.replace(pod.metadata.owner_references[0], name="web-abc"),),
    )
    lower = CureStep("lower-request", "cpu", "", 1000, 500)
    assert commands(msgspec.structs.replace(pod, metadata=metadata), [lower]) == (
        "kubectl -n shop set resources deployment/web -c c --requests=cpu=500m",
    )


def test_what_no_command_does_has_none():
    bare, lower = made(""), CureStep("lower-request", "memory", "", 4 * GIB, 2 * GIB)
    assert commands(bare, [lower]) == ()
    assert commands(bare, [CureStep("tolerate", "gpu:NoSchedule", "", None, None)])[0].startswith(
        "kubectl -n shop patch pod/web-0 --type=json -p "
    )
    assert commands(made(), [lower, CureStep("add-node", "", "n1", None, None)]) == ()


@pytest.mark.parametrize(
    ("resource", "amount", "up", "down"),
    [
        ("cpu", 1500, "1500m", "1500m"),
        ("cpu", 2000, "2", "2"),
        ("memory", 3 * GIB, "3Gi", "3Gi"),
        ("memory", 3 * GIB // 2, "1.5Gi", "1.5Gi"),
        ("memory", 2 * GIB - 1, "2Gi", "2047Mi"),
        ("memory", 100 * 2**20, "100Mi", "100Mi"),
        ("nvidia.com/gpu", 2, "2", "2"),
    ],
)
def test_amounts_are_written_as_people_do(resource: str, amount: int, up: str, down: str):
    assert (format_quantity(resource, amount), format_quantity(resource, amount, down=True)) == (up, down)

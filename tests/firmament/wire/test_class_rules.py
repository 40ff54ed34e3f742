"""Decoders of the fields that few classes have, one message at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from firmament.core.events import InvalidEventError
from firmament.core.model import (
    Container,
    NewStorage,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    SpreadRule,
    StorageRoom,
    TaskClaim,
    TaskSelector,
    TaskTerm,
    Toleration,
    VolumeRule,
)
from firmament.wire import class_rules as rules
from protos.firmament.v1 import scheduler_pb2 as pb

SSD = pb.Requirement(key="disk", operator="In", values=["ssd"])
TERM = pb.NodeSelectorTerm(labels=[SSD])
CORE_TERM = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
CPU = pb.Quantity(resource="cpu", amount=5)


def selector(**more: Any) -> pb.TaskSelector:
    return pb.TaskSelector(labels=[pb.Requirement(key="app", operator="In", values=["web"])], **more)


WEB = TaskSelector((Requirement("app", "In", ("web",)),))


def weighted(*given: Any) -> TaskTerm:
    return rules.decode_task_term(*given, weighted=True)


def new_storage(*given: Any) -> tuple[NewStorage, ...]:
    return rules.make_storage_decoder(NewStorage, "total")(*given)


@pytest.mark.parametrize(
    ("decode", "message", "expected"),
    [
        (rules.decode_attachment, pb.Attachment(resource="r", volume="v"), ("r", "v")),
        (
            rules.decode_container,
            pb.Container(name="c", kind=pb.Container.SIDECAR, requests=[CPU], limits=[CPU]),
            Container("c", "sidecar", (("cpu", 5),), (("cpu", 5),)),
        ),
        (rules.decode_container, pb.Container(kind=pb.Container.INIT), Container("", "init", (), ())),
        (rules.decode_container, pb.Container(kind=pb.Container.APP), Container("", "app", (), ())),
        (rules.decode_port, pb.HostPort(port=1), (1, "TCP", "")),
        (rules.decode_port, pb.HostPort(port=65535, protocol="UDP", ip="0.0.0.0"), (65535, "UDP", "")),
        (rules.decode_port, pb.HostPort(port=80, ip="10.0.0.1"), (80, "TCP", "10.0.0.1")),
        (rules.decode_disk, pb.Disk(name="d", read_only=True), ("d", True, False)),
        (rules.decode_disk, pb.Disk(name="d", claim=True), ("d", False, True)),
        (rules.decode_task_claim, pb.TaskClaim(name="n", claim="a/b"), TaskClaim("n", "a/b", "")),
        (rules.decode_task_claim, pb.TaskClaim(name="n", spec="{}"), TaskClaim("n", "", "{}")),
        (rules.decode_preferred, pb.PreferredTerm(weight=1, term=TERM), PreferredTerm(1, CORE_TERM)),
        (rules.decode_preferred, pb.PreferredTerm(weight=100, term=TERM), PreferredTerm(100, CORE_TERM)),
        (
            rules.decode_volume,
            pb.VolumeRule(terms=[TERM], reason="r", in_use=True),
            VolumeRule((CORE_TERM,), "r", True),
        ),
        (rules.decode_toleration, pb.Toleration(key="k", value="v"), Toleration("k", "Equal", "v", "")),
        (rules.decode_toleration, pb.Toleration(operator="Exists"), Toleration("", "Exists", "", "")),
        (
            rules.decode_toleration,
            pb.Toleration(key="k", operator="Gt", value="5", effect="NoExecute"),
            Toleration("k", "Gt", "5", "NoExecute"),
        ),
        (
            rules.decode_task_term,
            pb.TaskTerm(topology_key="z", selector=selector(), weight=7),
            TaskTerm("z", WEB, 0),
        ),
        (weighted, pb.TaskTerm(topology_key="z", selector=selector(), weight=7), TaskTerm("z", WEB, 7)),
        (
            rules.decode_task_term,
            pb.TaskTerm(topology_key="z", selector=selector(namespaces=["b", "a", "b"], nothing=True)),
            TaskTerm("z", TaskSelector(WEB.labels, True, ("a", "b"), None)),
        ),
        (
            rules.decode_task_term,
            pb.TaskTerm(topology_key="z", selector=selector(namespaces_by_label=pb.NamespaceSelector())),
            TaskTerm("z", TaskSelector(WEB.labels, False, (), ())),
        ),
        (
            rules.decode_spread_rule,
            pb.SpreadRule(
                topology_key="z",
                selector=selector(),
                max_skew=1,
                required=True,
                min_domains=2,
                ignore_node_affinity=True,
                honor_taints=True,
            ),
            SpreadRule("z", WEB, 1, True, 2, True, True),
        ),
        (
            rules.decode_spread_rule,
            pb.SpreadRule(topology_key="z", selector=selector(), max_skew=3, honor_taints=True),
            SpreadRule("z", WEB, 3, False, 0, False, True),
        ),
        (
            rules.storage_rooms,
            [
                pb.StorageRoom(storage_class="b", largest=1, capacity=2),
                pb.StorageRoom(storage_class="a", largest=3, capacity=4),
            ],
            (StorageRoom("a", 3, 4), StorageRoom("b", 1, 2)),
        ),
        (
            new_storage,
            [pb.NewStorage(storage_class="a", largest=3, total=4)],
            (NewStorage("a", 3, 4),),
        ),
    ],
)
def test_messages_become_values(decode: Callable[[str, str, Any], object], message: Any, expected: object):
    assert decode("class 1", "f", message) == expected


@pytest.mark.parametrize(
    ("decode", "message", "fault"),
    [
        (rules.decode_attachment, pb.Attachment(volume="v"), "f.resource: is empty; it is required"),
        (rules.decode_attachment, pb.Attachment(resource="r"), "f.volume: is empty; it is required"),
        (
            rules.decode_container,
            pb.Container(kind=cast("Any", 9)),
            "f.kind: 9 is not a kind; use APP, INIT or SIDECAR",
        ),
        (
            rules.decode_container,
            pb.Container(kind=pb.Container.APP, requests=[CPU, CPU]),
            "f.requests[cpu]: is given twice; send one amount per resource",
        ),
        (
            rules.decode_container,
            pb.Container(kind=pb.Container.APP, limits=[CPU, CPU]),
            "f.limits[cpu]: is given twice; send one amount per resource",
        ),
        (rules.decode_port, pb.HostPort(port=0), "f.port: 0 is out of range; use 1 to 65535"),
        (rules.decode_port, pb.HostPort(port=65536), "f.port: 65536 is out of range; use 1 to 65535"),
        (
            rules.decode_port,
            pb.HostPort(port=1, protocol="tcp"),
            "f.protocol: 'tcp' is not a protocol; use one of SCTP, TCP, UDP",
        ),
        (rules.decode_disk, pb.Disk(), "f.name: is empty; it is required"),
        (rules.decode_task_claim, pb.TaskClaim(claim="a"), "f: name: is empty; it is required"),
        (
            rules.decode_task_claim,
            pb.TaskClaim(name="n"),
            "f: claim and spec are both empty; send exactly one of them",
        ),
        (
            rules.decode_task_claim,
            pb.TaskClaim(name="n", claim="a", spec="b"),
            "f: claim and spec are both given; send exactly one of them",
        ),
        (rules.decode_preferred, pb.PreferredTerm(term=TERM), "f.weight: 0 is out of range; use 1 to 100"),
        (rules.decode_preferred, pb.PreferredTerm(weight=101), "f.weight: 101 is out of range; use 1 to 100"),
        (
            rules.decode_toleration,
            pb.Toleration(key="k", operator="In"),
            "f.operator: 'In' is not an operator; use one of Equal, Exists, Gt, Lt",
        ),
        (rules.decode_toleration, pb.Toleration(value="v"), "f.key: is empty; only Exists takes every key"),
        (
            rules.decode_toleration,
            pb.Toleration(key="k", effect="Never"),
            "f.effect: 'Never' is not an effect; use one of NoExecute, NoSchedule, PreferNoSchedule",
        ),
        (
            rules.decode_task_term,
            pb.TaskTerm(selector=selector()),
            "f: topology_key: is empty; it is required",
        ),
        (weighted, pb.TaskTerm(topology_key="z"), "f.weight: 0 is out of range; use 1 to 100"),
        (weighted, pb.TaskTerm(topology_key="z", weight=101), "f.weight: 101 is out of range; use 1 to 100"),
        (
            rules.decode_spread_rule,
            pb.SpreadRule(topology_key="z", max_skew=0),
            "f.max_skew: 0 is out of range; use 1 or more",
        ),
        (
            rules.decode_spread_rule,
            pb.SpreadRule(topology_key="z", max_skew=1, min_domains=-1),
            "f.min_domains: -1 is negative; use 0 or more",
        ),
        (
            rules.decode_spread_rule,
            pb.SpreadRule(topology_key="z", max_skew=1, min_domains=1),
            "f.min_domains: is given; only required rules take it",
        ),
        (rules.decode_spread_rule, pb.SpreadRule(max_skew=1), "f: topology_key: is empty; it is required"),
        (
            rules.storage_rooms,
            [pb.StorageRoom(storage_class="a"), pb.StorageRoom(storage_class="a")],
            "f[1].storage_class: a is given twice; send one entry for each",
        ),
        (rules.storage_rooms, [pb.StorageRoom(largest=1)], "f[0].storage_class: is empty; it is required"),
    ],
)
def test_faults_name_field_and_remedy(decode: Callable[[str, str, Any], object], message: Any, fault: str):
    with pytest.raises(InvalidEventError) as refused:
        decode("class 1", "f", message)
    assert str(refused.value) == f"class 1: {fault}"

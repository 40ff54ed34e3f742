"""What single objects have ended bridges with: each is read, and the others go on."""

from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.decoding import decode_metadata, decode_object, decode_page
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference, seconds
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.api.pod_groups import ScaledOwner, ScaleSpec
from poseidon.kube.api.pods import Pod
from poseidon.kube.write.patch_writer import ConfigMapWrite
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.refused_pods import RECREATIONS, RecoveryOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import PENDING, SolverView
from tests.poseidon.group_trees.objects import group_map
from tests.poseidon.group_trees.objects import pod as member
from tests.support.needs import words_of

START = 1_800_000_000.0


def state(**more):
    found = BridgeState(
        BridgeConfiguration(recovery=RecoveryOptions(recreate_bare_pods=True)),
        needs=words_of("network_overhead", "topology"),
        wall=lambda: START,
        **more,
    )
    found.nodes_changed([present(node("n1")), present(node("n2"))])
    found.gangs.begin()
    return found


def told(found):
    view = SolverView()
    view.apply(found.snapshot())
    return view


def annotated(found, **annotations):
    return replace(found, metadata=replace(found.metadata, annotations=annotations))


def owned(found, name, uid, **annotations):
    owner = OwnerReference(kind="ReplicaSet", name=name, uid=uid, controller=True)
    metadata = replace(found.metadata, owner_references=(owner,), annotations=annotations)
    return replace(found, metadata=metadata)


@pytest.mark.parametrize("count", ["9" * 5_000, "9" * 30, "٣", "-1", "x"])
def test_a_count_of_recreations_may_be_any_text(count):
    found = state()
    failed = pod("a", node="n1", phase="Failed")
    failed = replace(failed, status=replace(failed.status, reason="OutOfcpu"))
    found.pods_changed([present(annotated(failed, **{RECREATIONS: count})), present(pod("b"))])
    for action in found.take_actions():
        msgspec.json.encode(str(action))
    assert told(found).tasks["pod-b"].state == PENDING


@pytest.mark.parametrize(
    "constraints",
    [
        *('{"rack": ' + "[" * depth + "]" * depth + "}" for depth in (60, 100, 900, 950, 999, 5_000)),
        *('{"rack": ' + '{"a":' * depth + "1" + "}" * depth + "}" for depth in (60, 900, 999)),
        '{"\\ud800": {"type": "pack"}}',
        '{"rack": {"type": "\\udfff"}}',
        '{"rack": {"partitions": NaN}}',
        '{"rack": {"partitions": 1e999}}',
        '{"rack": {"partitions": ' + "9" * 5_000 + "}}",
        '{"rack": {"partitions": ' + "9" * 4_000 + "}}",
        '{"a": ' + '"' + "x" * 2**20 + '"}',
    ],
    ids=lambda text: f"{text[:20]}-{len(text)}",
)
def test_constraints_of_a_group_may_be_any_text(constraints):
    found = state()
    found.gangs.group_maps_changed([present(group_map(constraints=constraints))])
    found.pods_changed([present(member("a")), present(member("b")), present(pod("c"))])
    found.gangs.topology.expire()
    writes = [each for each in found.take_actions() if isinstance(each, ConfigMapWrite)]
    assert writes, "people are told"
    for write in writes:
        msgspec.json.encode(dict(write.data))
    assert told(found).tasks["pod-c"].state == PENDING


@pytest.mark.parametrize(
    "began", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999Z"]
)
def test_times_that_cannot_be_written_again_are_no_times(began):
    assert seconds(began) is None
    found = state()
    found.gangs.group_maps_changed([present(group_map(size=1, status="Bound", schedBeginTime=began))])
    found.pods_changed([present(member("a", node="n1", phase="Running", created=began)), present(pod("c"))])
    found.gangs.topology.expire()
    assert [each for each in found.take_actions() if isinstance(each, ConfigMapWrite)]
    assert told(found).tasks["pod-c"].state == PENDING


def test_shares_of_two_owners_with_one_uid_come_and_go():
    found = state()
    share = {"firmament-gang-scheduling": "100"}
    mine, theirs = (owned(pod(name), name, "one uid", **share) for name in "ab")
    found.pods_changed([present(mine), present(theirs)])
    told(found)
    for each in (theirs, mine):
        found.pods_changed([gone(each)])
    found.pods_changed([present(pod("c"))])
    assert [*told(found).tasks] == ["pod-c"]


@pytest.mark.parametrize("count", [2**31, 2**40, 10**30, 10**400, -(10**400)])
def test_owners_may_want_any_number_of_pods(count):
    found = state()
    share = owned(pod("a"), "web", "uid", **{"firmament-gang-scheduling": "50"})
    found.pods_changed([present(share)])
    owner = ScaledOwner(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid"), spec=ScaleSpec(replicas=count)
    )
    found.gangs.get_handler("ReplicaSet")([present(owner)])
    found.pods_changed([present(pod("c"))])
    view = told(found)
    assert view.tasks["pod-c"].state == PENDING
    assert view.jobs
    assert all(job.size <= 2**31 - 1 for job in view.jobs.values())


@pytest.mark.parametrize(
    "left",
    [
        "[" * 900 + "]" * 900,
        "[" * 100_000,
        '{"workloads": ' + '{"a":' * 990 + "1" + "}" * 990 + "}",
        '{"workloads": [{"workload": {"name": "\\ud800"}}]}',
        '{"workloads": [{"workload": {"name": "a"}, "dependencies": [{"workload": {"name": "\\udfff"}}]}]}',
        '{"numMembers": 1e999, "workloads": []}',
    ],
    ids=lambda text: f"{text[:30]}-{len(text)}",
)
def test_the_last_good_spec_may_be_any_text(left):
    found = state()
    book = found.applications
    note = {"network.firmament.io/last-good-spec": left}
    for kind, take in ((AppGroup, book.app_groups_changed), (NetworkTopology, book.topologies_changed)):
        take([present(kind(metadata=ObjectMeta(name="shop", uid=kind.__name__, annotations=note), spec=5))])
    for key in book.take_dirty():
        proposal, _ = book.reconcile(key, START)
        msgspec.json.encode((proposal.spec, proposal.status, proposal.annotations))
        assert proposal.wanted
    found.pods_changed([present(pod("c"))])
    assert told(found).tasks["pod-c"].state == PENDING


def test_deltas_of_unknown_kinds_and_of_unknown_pods_are_reported_and_counted(bridge):
    found = bridge.state
    found.nodes_changed([present(node("n1"))])
    found.pods_changed([present(pod("a")), present(pod("b"))])
    told(found)
    result = pb.RoundResult(round=1)
    for kind, uid in (
        (77, "pod-a"),
        (pb.Delta.PLACE, "nobody"),
        (pb.Delta.PREEMPT, "nobody"),
        (pb.Delta.PLACE, "pod-b"),
    ):
        result.deltas.add(kind=kind, task=uid, machine="n1")
    bridge._note_round(result)
    found.on_round(result)
    assert [each.pod.uid for each in found.take_actions()] == ["pod-b"]
    reports = {each.task: each.reason for each in found.take_reports()}
    assert "what it does not know" in reports["pod-a"]
    assert reports["nobody"] == "the pod is gone"
    assert bridge._metrics.deltas.labels("UNKNOWN")._value.get() == 1
    refused = dict(found.refusals.counts)
    assert refused
    bridge._on_changed()
    counted = bridge._metrics.deltas_refused
    assert {each: counted.labels(*(part.value for part in each))._value.get() for each in refused} == refused
    assert not found.refusals.counts


@pytest.fixture
def bridge():
    from random import Random

    from prometheus_client import CollectorRegistry

    from poseidon.bridge.options import BridgeOptions
    from poseidon.kube.environment import Environment

    return Bridge(
        BridgeProcess(
            Environment(
                None,  # type: ignore[arg-type]  # it does not run
                random=Random(1),
                clock=lambda: 0.0,
                wall=lambda: START,
            )
        ),
        BridgeOptions(firmament=("127.0.0.1:1",), fencing=1),
        CollectorRegistry(),
    )


async def test_every_action_has_a_writer(bridge):
    assert bridge._writers._how.keys() == set(get_args(Action))


# --- bytes ------------------------------------------------------------------------------------------------------------

GOOD = b'{"metadata":{"name":"good","uid":"g"}}'
ODD = {
    "half a character": b'{"metadata":{"name":"odd","uid":"o","labels":{"a":"\\ud800"}}}',
    "the other half": b'{"metadata":{"name":"odd","uid":"o","labels":{"a":"\\udfff\\ud800"}}}',
    "no UTF-8": b'{"metadata":{"name":"odd","uid":"o","labels":{"a":"\xed\xa0\x80\xff"}}}',
    "deep": b'{"metadata":{"name":"odd","uid":"o"},"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep, and a null": b'{"metadata":{"name":"odd","uid":"o","labels":null},"x":'
    + b'{"a":' * 900
    + b"1"
    + b"}" * 901,
    "long number": b'{"metadata":{"name":"odd","uid":"o"},"spec":{"priority":' + b"9" * 5_000 + b"}}",
    "large number": b'{"metadata":{"name":"odd","uid":"o"},"spec":{"overhead":{"cpu":1e400}}}',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_bytes_of_one_object_spoil_no_list_and_not_even_the_object(odd):
    page = decode_page(b'{"metadata":{"resourceVersion":"7"},"items":[%b,%b,%b]}' % (GOOD, odd, GOOD), Pod)
    assert [item.metadata.name for item in page.items] == ["good", "odd", "good"]
    assert page.resource_version == "7"
    found = decode_object(odd, Pod)
    assert found.metadata == decode_metadata(odd)
    json.dumps(msgspec.to_builtins(found), ensure_ascii=False).encode()


def test_pairs_of_halves_are_characters():
    raw = b'{"metadata":{"name":"\\ud83d\\ude42 \\\\ud800 \\ud800"}}'
    assert decode_object(raw, Pod).metadata.name == "\U0001f642 \\ud800 �"


def test_what_lies_too_deep_is_not_taken_for_something_else():
    deep = b"[" * 900 + b"]" * 900
    found = decode_object(b'{"metadata":{"name":"a"},"spec":{"workloads":%b}}' % deep, AppGroup)
    value = found.spec["workloads"]
    while isinstance(value, list):
        (value,) = value
    assert value == "(nested too deeply)"
    assert decode_object(b'{"metadata":{"name":"a"},"unknown":%b}' % deep, Pod).metadata.name == "a"

"""Pods that turn out to be bound although no answer said so: their event, and no nomination of them."""

from __future__ import annotations

import asyncio
import logging
import time
from random import Random

import pytest
from msgspec.structs import replace

from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.binder import BindResult
from poseidon.kube.write.patch_writer import NominatedNodeWrite, PatchWriter
from poseidon.lifecycle.actions import AnnounceScheduled, Bind
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.kube.scripted_api import json, scripted, status
from tests.poseidon.volumes.objects import present as storage_present
from tests.support import storage

POD = PodRef("pod-a", "default", "a")
SCHEDULED = AnnounceScheduled(POD, "n1")


@pytest.fixture
def harness():
    made = Harness()
    made.pods(present(pod("a")))
    return made


def seen(harness, where="n1"):
    """What the bridge does when the watch shows the pod on a node."""
    harness.pods(present(pod("a", node=where)))
    return harness.state.take_actions()


def test_the_answer_was_lost_and_the_watch_tells_later(harness):
    [bind] = harness.place("pod-a", "n1")
    assert harness.outcome(bind, BindResult.FAILED, "connection reset") == []
    assert seen(harness) == [SCHEDULED]
    assert seen(harness) == [], "it is said once"


def test_the_watch_tells_before_the_last_try_fails(harness):
    [bind] = harness.place("pod-a", "n1")
    assert seen(harness) == [], "its outcome will say so"
    assert harness.outcome(bind, BindResult.FAILED, "connection reset") == [SCHEDULED]
    harness.sync()
    assert harness.states() == {"pod-a": (BOUND, "n1")}


def test_an_answer_is_no_second_event(harness):
    [bind] = harness.place("pod-a", "n1")
    assert seen(harness) == []
    assert harness.outcome(bind) == [SCHEDULED]
    assert seen(harness) == []


def test_somebody_else_has_bound_it(harness):
    harness.place("pod-a", "n1")
    assert seen(harness, "n2") == [AnnounceScheduled(POD, "n2")]


def test_pods_of_other_schedulers_and_pods_that_ran_already_are_not_announced():
    harness = Harness()
    harness.pods(present(pod("a", scheduler="other")), present(pod("b", node="n1")))
    harness.pods(present(pod("a", node="n1", scheduler="other")), present(pod("b", node="n1")))
    assert harness.state.take_actions() == []


def test_a_nomination_ends_with_the_binding():
    harness = Harness()
    harness.pods(present(pod("v", node="n1", deleting=True)), present(pod("a")))
    assert NominatedNodeWrite(POD, "n1") in harness.place("pod-a", "n1", depends_on=["pod-v"])
    assert seen(harness) == [SCHEDULED]
    harness.state.nodes_changed([gone(node("n1"))])
    assert harness.state.take_actions() == [], "nothing is taken back of a pod that is bound"


REFUSAL = status(
    422,
    "Invalid",
    'Pod "a" is invalid: status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
)


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_a_nomination_that_comes_too_late_is_no_fault(caplog, withdrawn):
    quiet = asyncio.Event()

    async def wait_quiet():
        await quiet.wait()

    async def answer(request):
        return REFUSAL if b"nominatedNodeName" in await request.read() else json({})

    async with (
        scripted(answer) as (api, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        writer = PatchWriter("nomination", Environment(transport, random=Random(1)), wait_quiet)
        task = asyncio.create_task(writer.run())
        with caplog.at_level(logging.WARNING):
            writer.submit(NominatedNodeWrite(POD, "n1"))
            if withdrawn:
                writer.withdraw(POD.uid)
            quiet.set()
            await writer.wait_drained()
        task.cancel()
        assert len(api.requests) == (0 if withdrawn else 1)
    assert caplog.messages == []


def test_somebody_else_binds_a_pod_that_waits_for_others_to_leave():
    for where, bound in (("n1", True), ("n2", False)):
        harness = Harness()
        harness.pods(present(pod("v", node="n1", deleting=True)), present(pod("a")))
        harness.place("pod-a", "n1", depends_on=["pod-v"])
        [report], _ = harness.pods(present(pod("a", node=where)))
        assert (report.task, report.machine, report.bound) == ("pod-a", "n1", bound)
        assert harness.states()["pod-a"] == (BOUND, where)
        assert not any(isinstance(each, Bind) for each in harness.state.take_actions())
        harness.pods(gone(pod("v", node="n1")))
        assert not any(isinstance(each, Bind) for each in harness.state.take_actions())


def test_a_pod_that_is_gone_is_news_for_the_solver(harness):
    assert not harness.state.has_news
    harness.state.pods_changed([gone(pod("a"))])
    assert harness.state.has_news
    harness.sync()
    assert harness.states() == {}
    assert not harness.state.has_news


def test_a_pod_is_offered_while_nothing_holds_it_back(harness):
    for gated in (True, False, True):
        harness.pods(present(pod("a", gated=gated)))
        assert set(harness.states()) == (set() if gated else {"pod-a"})


def test_a_pod_is_offered_when_the_volume_of_its_claim_is_there():
    harness = Harness()
    claimed = pod("a")
    uses = PodVolume(name="c", persistent_volume_claim=ClaimSource(claim_name="c"))
    claimed = replace(claimed, spec=replace(claimed.spec, volumes=(uses,)))
    harness.pods(present(claimed))
    assert harness.states() == {}
    harness.state.handlers[kinds.VOLUME]([storage_present(storage.volume("v", to="default/c"))])
    harness.state.handlers[kinds.CLAIM]([storage_present(storage.claim("c", volume="v"))])
    harness.sync()
    assert set(harness.states()) == {"pod-a"}

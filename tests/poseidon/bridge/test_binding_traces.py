"""Spans of bindings: of the first of each round, from its arrival to the binding's end, as children of the round."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from poseidon.bridge.binding_traces import MOST_OF_A_ROUND, BindingTraces
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from protos.firmament.v1 import scheduler_pb2 as pb

trace = pytest.importorskip("opentelemetry.trace")

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recorder:
    """A tracer that keeps what it is asked for."""

    def __init__(self):
        self.spans = []

    def start_span(self, name, parent, *, start_time, attributes):
        span = SimpleNamespace(name=name, parent=parent, begun=start_time, attributes=attributes, status=None)
        span.set_status = lambda status: setattr(span, "status", status)
        span.end = lambda at: setattr(span, "ended", at)
        self.spans.append(span)
        return span


class Scene:
    def __init__(self):
        self.now = 1000
        self.tracer = Recorder()
        self.traces = BindingTraces(cast("Any", self.tracer), lambda: self.now)

    def round(self, number, *tasks, kind=pb.Delta.PLACE):
        result = pb.RoundResult(round=number, trace=PARENT)
        for task in tasks:
            result.deltas.add(kind=kind, task=task, machine="n1")
        self.traces.round_arrived(result)

    def end(self, uid, result=BindResult.BOUND, reason=""):
        self.traces.binding_ended(BindOutcome(BindRequest(uid, "shop", f"name-{uid}", "n1"), result, reason))


@pytest.fixture
def scene():
    return Scene()


def test_a_span_lasts_from_the_round_to_the_end_of_the_binding(scene):
    scene.round(7, "a")
    scene.now = 1500
    scene.end("a")
    [span] = scene.tracer.spans
    assert (span.name, span.begun, span.ended, span.status) == ("binding", 1000, 1500, None)
    assert span.attributes == {
        "k8s.pod.name": "name-a",
        "k8s.pod.uid": "a",
        "k8s.namespace.name": "shop",
        "k8s.node.name": "n1",
        "firmament.round": 7,
        "poseidon.result": BindResult.BOUND.value,
    }
    context = trace.get_current_span(span.parent).get_span_context()
    assert f"{context.trace_id:032x}" == PARENT.split("-")[1]


def test_a_binding_that_fails_is_an_error_with_its_reason(scene):
    scene.round(7, "a")
    result = next(each for each in BindResult if each is not BindResult.BOUND)
    scene.end("a", result, "no such node")
    [span] = scene.tracer.spans
    assert (span.status.status_code, span.status.description) == (trace.StatusCode.ERROR, "no such node")


def test_a_binding_has_one_span_and_one_that_no_round_asked_for_has_none(scene):
    scene.round(7, "a")
    scene.end("a")
    scene.end("a")
    scene.end("b")
    assert len(scene.tracer.spans) == 1


def test_only_placements_are_followed(scene):
    scene.round(7, "a", kind=pb.Delta.PREEMPT)
    scene.end("a")
    assert not scene.tracer.spans


def test_only_the_first_of_a_round_are_followed(scene):
    scene.round(7, *(f"p{number}" for number in range(MOST_OF_A_ROUND + 2)))
    for number in range(MOST_OF_A_ROUND + 2):
        scene.end(f"p{number}")
    assert [span.attributes["k8s.pod.uid"] for span in scene.tracer.spans] == [
        f"p{number}" for number in range(MOST_OF_A_ROUND)
    ]


def test_the_oldest_that_never_end_are_forgotten(scene):
    for number in range(129):
        scene.round(number, *(f"{number}-{each}" for each in range(32)))
    scene.end("0-31")
    assert not scene.tracer.spans
    scene.end("1-0")
    scene.end("128-31")
    assert [span.attributes["firmament.round"] for span in scene.tracer.spans] == [1, 128]

"""How a shadow asks the solver about pods that others have bound: when again, when no more, and what it tells."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.api.resource import Change
from poseidon.live import shadow as shadow_module
from poseidon.live.shadow import Observation, Shadow
from poseidon.live.solver import NoAnswerError
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.live.test_solver import NOBODY, make_solver, serving
from tests.support.time_limits import stretch
from tests.support.waiting import stays, until


class Answers(make_solver):  # type: ignore[misc]
    """Answers about tasks what a test says: an explanation, or a status with which it fails."""

    def __init__(self) -> None:
        super().__init__("c")
        self.asked: list[str] = []
        self.answers: list[Any] = []

    async def Explain(self, request, context):  # noqa: N802 - the name in the protocol
        if not request.task:
            return pb.Explanation()
        self.asked.append(request.task)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, grpc.StatusCode):
            await context.abort(answer, "not now")
        return answer


def on(machine: str, **costs: float) -> pb.Explanation:
    """An explanation of a task that is on a machine; costs by machine."""
    found = pb.Explanation(machine=machine)
    for name, cost in costs.items():
        verdict = found.machines.add(machine=name, feasible=True, cost=cost)
        verdict.models.add(model="load", cost=cost)
    return found


def bound(name: str, node: str) -> list[Change[Pod]]:
    metadata = ObjectMeta(name=name, namespace="shop", uid=name)
    return [
        Change(name, Pod(metadata=metadata, spec=PodSpec(node_name=each, scheduler_name="theirs")))
        for each in ("", node)
    ]


@asynccontextmanager
async def shadowing(solver: Answers, rate: float = 1000.0):
    told: list[Observation] = []
    async with serving(solver) as targets:
        made = Shadow(targets, "c", frozenset({"theirs"}), rate, report=told.append)
        running = asyncio.create_task(made.run())
        try:
            yield made, told
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_bound_pod_is_compared_with_the_cheapest_node_and_told():
    solver = Answers()
    solver.answers = [on("n1", n1=9.0, n2=4.0)]
    async with shadowing(solver) as (shadow, told):
        shadow.take_changes(bound("p", "n1"))
        await until(lambda: told)
        assert told == shadow.report.observed
        [found] = told
        assert (found.pod, found.node, found.best, found.saving) == ("shop/p", "n1", "n2", 5.0)
        assert (solver.asked, shadow.report.unknown) == (["p"], 0)


async def test_it_is_asked_again_until_the_solver_knows_where_the_pod_is(monkeypatch):
    monkeypatch.setattr(shadow_module, "_RETRY", 0.001)
    solver = Answers()
    solver.answers = [
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.NOT_FOUND,
        on("", n1=9.0),
        on("n2", n1=9.0),
        on("n1", n1=9.0),
    ]
    async with shadowing(solver) as (shadow, told):
        shadow.take_changes(bound("p", "n1"))
        await until(lambda: told)
        assert len(solver.asked) == 5
        assert shadow.report.unknown == 0


@pytest.mark.parametrize("answer", [grpc.StatusCode.NOT_FOUND, on("n2", n1=9.0), on("n1", n2=9.0)])
async def test_a_pod_that_the_solver_does_not_know_in_time_is_unknown(monkeypatch, answer):
    monkeypatch.setattr(shadow_module, "_RETRY", 0.001)
    monkeypatch.setattr(shadow_module, "_KNOWN_WITHIN", stretch(0.03))
    solver = Answers()
    solver.answers = [answer]
    async with shadowing(solver) as (shadow, told):
        shadow.take_changes(bound("p", "n1"))
        await until(lambda: shadow.report.unknown == 1)
        assert (told, shadow.report.observed) == ([], [])


async def test_pods_are_asked_about_one_by_one_at_most_so_often():
    solver = Answers()
    solver.answers = [on("n1", n1=9.0)]
    async with shadowing(solver, rate=0.01) as (shadow, told):
        shadow.take_changes([*bound("a", "n1"), *bound("b", "n1")])
        await until(lambda: told)
        await stays(lambda: solver.asked == ["a"], 0.03)


async def test_without_any_solver_at_the_start_it_says_so():
    with pytest.raises(NoAnswerError):
        await Shadow([NOBODY], "c", frozenset({"theirs"}), 2.0).run()

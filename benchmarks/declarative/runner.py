"""Runs the ops of a workload on a target."""

from __future__ import annotations

import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.declarative.expressions import ExpressionError, Scope
from benchmarks.declarative.loading import Workload, template_names
from benchmarks.declarative.schema import (
    Amount,
    Barrier,
    Churn,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Measure,
    Op,
)
from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import Figures, Target, TargetError
from poseidon.demo.binding_latency import PodName

CHUNK = 5_000
"""Most objects per call of a target."""

PACE_SECONDS = 0.05
"""Default interval in seconds at which due pods are created."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one ``measure`` op."""

    name: str
    figures: Figures

    def as_json(self) -> dict[str, Any]:
        """Return the figures for reports."""
        return {"name": self.name, **self.figures.as_json()}


class Runner:
    """Runs the ops of a workload in order."""

    def __init__(
        self,
        workload: Workload,
        target: Target,
        *,
        progress: Callable[[str], None] = lambda _: None,
        timer: Callable[[], float] = time.monotonic,
        pace: float = PACE_SECONDS,
    ) -> None:
        """Prepare a run. ``pace``: interval in seconds at which due pods are created if they have a rate; 0: each
        when due.
        """
        self._workload = workload
        self._target = target
        self._progress = progress
        self._timer = timer
        self._pace = pace
        self._scope = Scope({"index": 0, "nodes": 0, **workload.params}, seed=workload.seed)
        self._random = random.Random(workload.seed)  # noqa: S311 - which template comes next, nothing secret
        self._created: dict[str, int] = defaultdict(int)
        self._living: dict[str, deque[PodName]] = defaultdict(deque)

    async def run(self) -> list[Measured]:
        """Run all ops; return the figures of the measured ones. Raises ``TargetError``."""
        measured: list[Measured] = []
        try:
            for op in self._workload.file.ops:
                await self._do(op, measured)
        except ExpressionError as error:
            raise TargetError(f"workload {self._workload.name}: {error}") from None
        return measured

    async def _do(self, op: Op, measured: list[Measured]) -> None:
        match op.step:
            case CreateNodes() as step:
                await self._create_nodes(step)
            case CreateObjects() as step:
                await self._create(step.group, self._number(step.count), step.template, step.namespace)
            case CreatePods() as step:
                await self._create_pods(step)
            case DeletePods() as step:
                count = len(self._living[step.group]) if step.count is None else self._number(step.count)
                await self._delete(step.group, count)
            case Churn() as step:
                await self._churn(step)
            case Barrier():
                await self._target.settle()
            case Measure() as step:
                measured.append(await self._measure(step))

    async def _measure(self, step: Measure) -> Measured:
        self._progress(f"{self._workload.name}: {step.name}")
        inner: list[Measured] = []
        self._target.begin()
        for op in step.ops:
            await self._do(op, inner)
        await self._target.settle()
        if inner:
            raise TargetError(f"{step.name}: a measure within a measure; take one of them out")
        return Measured(step.name, self._target.end())

    async def _create_nodes(self, step: CreateNodes) -> None:
        count = self._number(step.count)
        self._progress(f"{self._workload.name}: creating {count:,} nodes")
        self._scope.values["nodes"] = len(self._scope.node_names) + count
        await self._create("node", count, step.template, "")

    async def _create_pods(self, step: CreatePods) -> None:
        count = self._number(step.count)
        rate = None if step.rate is None else self._number(step.rate)
        draw = step.random
        if rate is None:
            await self._create(step.group, count, step.template, step.namespace, draw=draw)
            return
        begin, sent = self._timer(), 0
        while sent < count:
            due = min(count, int((self._timer() - begin) * rate) + 1)
            await self._create(step.group, due - sent, step.template, step.namespace, draw=draw)
            sent = due
            next_due = begin + sent / rate - self._timer()
            await self._target.advance(self._pace or max(0.0, next_due))

    async def _churn(self, step: Churn) -> None:
        for _ in range(self._number(step.times)):
            await self._delete(step.group, self._number(step.count))
            await self._create(step.group, self._number(step.count), step.template, step.namespace)
            await self._target.settle()

    async def _delete(self, group: str, count: int) -> None:
        living = self._living[group]
        await self._target.delete([living.popleft() for _ in range(min(count, len(living)))])

    async def _create(
        self, group: str, count: int, template: str | Sequence[str], namespace: str, *, draw: bool = False
    ) -> None:
        names = template_names(template)
        for begin in range(0, count, CHUNK):
            chunk = [
                self._instance(group, names, namespace, draw=draw) for _ in range(min(CHUNK, count - begin))
            ]
            await self._target.create(chunk)
            for manifest in chunk:
                if manifest.kind == "Pod":
                    self._living[group].append(PodName(manifest.namespace, manifest.name))
                elif manifest.kind == "Node":
                    self._scope.node_names.append(manifest.name)

    def _instance(self, group: str, names: Sequence[str], namespace: str, *, draw: bool) -> Manifest:
        index = self._created[group]
        self._created[group] += 1
        self._scope.values["index"] = index
        chosen = self._random.choice(names) if draw else names[index % len(names)]
        template = self._workload.templates[chosen]
        return template.instantiate(
            self._scope,
            name=f"{group}-{index:05d}" if group == "node" else f"{group}-{index:06d}",
            namespace=namespace,
        )

    def _number(self, amount: Amount) -> int:
        return self._workload.amount(amount)

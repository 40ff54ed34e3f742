"""Each round of mixed histories before a judge that shares no code with rounds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.judge.queues.cases import Admitted, Case, Decision, Workload
from benchmarks.judge.queues.rules import list_faults
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.preemption.quotas.mixed_histories import MixedWorld
from tests.support.effort import examples

POLICIES = {"within": "withinClusterQueue", "reclaim": "reclaimWithinCohort"}


def make_spec(stated: dict[str, Any], above: str) -> dict[str, Any]:
    """The spec of a ClusterQueue or Cohort that states a quota; ``above``: the field that names its parent."""
    limits = {"nominalQuota": "nominal", "borrowingLimit": "borrowing", "lendingLimit": "lending"}
    flavors = []
    for flavor in stated["nominal"]:
        given = {field: stated[key][flavor]["cpu"] for field, key in limits.items() if key in stated}
        flavors.append({"name": flavor, "resources": [{"name": "cpu", **given}]})
    policies = stated.get("preemption", {})
    borrow = policies.get("borrow", {})
    return {
        "resourceGroups": [{"flavors": flavors}],
        above: stated.get("parent", ""),
        "preemption": {
            **{field: policies.get(key) for key, field in POLICIES.items()},
            "borrowWithinCohort": {
                "policy": borrow.get("policy"),
                "maxPriorityThreshold": borrow.get("threshold"),
            },
        },
    }


class JudgedWorld(MixedWorld):
    """A world whose rounds are judged."""

    def __init__(self, seed: int) -> None:
        self.decided: Counter[str] = Counter()
        super().__init__(seed)

    def judge(self, result: RoundResult) -> None:
        """Judge who comes, and who goes for that."""
        parts: dict[str, Admitted] = {}
        gone, waits = set[str](), set[str]()
        for delta in result.deltas:
            name = self.name(delta.uid)
            if delta.kind is DeltaKind.PREEMPT:
                gone.add(name)
                continue
            self.add(parts.setdefault(name, Admitted({}, {})), delta.uid, delta.machine)
            waits |= {name} if delta.depends_on else set()
        decision = Decision(
            {name: each for name, each in parts.items() if name not in waits},
            {name: each for name, each in parts.items() if name in waits},
            tuple(sorted(gone)),
        )
        self.decided += Counter(admitted=len(decision.admitted), comes=len(decision.comes), evicted=len(gone))
        queues = {name: make_spec(self.stated[name], "cohortName") for name in self._queues}
        cohorts = {name: make_spec(self.stated[name], "parentName") for name in ("root", "left")}
        machines = {name: {"cpu": cpu} for name, cpu in self._capacity.items()}
        case = Case("a round", queues, cohorts, machines, self.list_workloads(), fair=self._fair)
        # Of two that come, each may need a victim that both together do not.
        assert [each for each in list_faults(case, decision) if "in vain" not in each or len(waits) < 2] == []

    def name(self, uid: str) -> str:
        """The workload of a task."""
        return f"t{self._seen.of[uid].number}"

    def add(self, given: Admitted, uid: str, machine: str) -> None:
        """Count a task on a machine."""
        assert given.use is not None
        assert given.places is not None
        cpu = dict(self._seen.of[uid].content.requests)["cpu"]
        flavor = self._flavors[int(machine.removeprefix("m")) % len(self._flavors)]
        for amounts in (given.use.setdefault(flavor, {}), given.places.setdefault(machine, {})):
            amounts["cpu"] = amounts.get("cpu", 0) + cpu

    def list_workloads(self) -> tuple[Workload, ...]:
        """All workloads as they are before the round."""
        found = []
        for name, each in self._workloads.items():
            runs = Admitted({}, {})
            for uid in each.uids:
                if uid in self._seen.placed:
                    self.add(runs, uid, self._seen.placed[uid])
            queue = each.content.queue
            found.append(
                Workload(name, queue, each.priority, each.number, runs.use or None, runs.places or {})
            )
        return tuple(found)


def play(seed: int, steps: int) -> Counter[str]:
    world = JudgedWorld(seed)
    for _ in range(steps):
        world.step()
    return world.decided


def test_rounds_of_mixed_histories_are_allowed():
    decided: Counter[str] = Counter()
    for seed in range(20_000, 20_000 + examples(200, least=10, slow=True)):
        decided += play(seed, 20)
    assert min(decided[what] for what in ("admitted", "comes", "evicted"))


@pytest.mark.full
def test_thousands_of_rounds_of_mixed_histories_are_allowed():
    for seed in range(30_000, 30_250):
        play(seed, 40)

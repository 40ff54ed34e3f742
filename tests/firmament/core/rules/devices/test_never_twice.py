"""Whatever happens, no device is given to two tasks, no more of a shared one than it has, and none stays with a task
that is gone.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import BindingReport, RecordRemoved, TaskRemoved
from firmament.core.model import TaskClaim
from firmament.core.record_kinds import DEVICE_CLAIM_RECORD
from tests.support.core import machine, scheduler, task_class, tasks
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    own_claim,
    slice_record,
)
from tests.support.effort import examples

SHARED = claim_spec(exactly("gpu", 2))
MEMORY = 8


def _part(amount: int, name: str = "r") -> dict[str, Any]:
    return exactly("memory", name=name, capacity={"requests": {"memory": str(amount)}})


CLAIMS = [
    own_claim(exactly("gpu")),
    own_claim(exactly("gpu", 2)),
    own_claim(exactly("gpu", 1, 'device.attributes["gpu.example.com"].kind == "X"')),
    TaskClaim("c", "ns/shared"),
    own_claim(_part(4)),
    own_claim(_part(3, "a"), _part(2, "b")),
]


class World:
    """What a bridge would know: claims that were written, and who has devices in between."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        kind = f'device.attributes["{DRIVER}"].kind'
        classes = class_record("gpu", f'{kind} != "memory"'), class_record("memory", f'{kind} == "memory"')
        self.core = scheduler([machine("a"), machine("b"), *classes])
        for name in ("a", "b"):
            devices = [device(f"d{n}", attributes={"kind": draw.choice("XY")}) for n in range(3)]
            self.core.apply([slice_record(name, devices)])
        self.core.apply([slice_record("net", [device("s0", attributes={"kind": "X"})], allNodes=True)])
        memory = {"attributes": {"kind": "memory"}, "capacity": {"memory": {"value": str(MEMORY)}}}
        divided = [device(f"m{n}", allowMultipleAllocations=True, **memory) for n in range(2)]
        self.core.apply([slice_record("a-memory", divided, nodeName="a")])
        self.core.apply([claim_record("ns/shared", SHARED)])
        self.number = 0
        self.given: dict[str, dict[str, Any]] = {}
        self.at: dict[str, str] = {}
        self.written: set[str] = set()

    def submit(self) -> None:
        kind = self.draw.randrange(len(CLAIMS))
        uids = [f"t{self.number + n}" for n in range(self.draw.randint(1, 3))]
        self.number += len(uids)
        content = replace(task_class(10), claims=(CLAIMS[kind],))
        self.core.apply(tasks(kind + 1, *uids, content=content))

    def run(self) -> None:
        for delta in self.core.run_round().deltas:
            self.at[delta.uid] = delta.machine
            for each in delta.allocations:
                owner = each.claim or f"ns/{delta.uid}"
                allocation = json.loads(each.allocation)
                assert self.given.get(owner, allocation) == allocation, "a shared claim has one allocation"
                self.given[owner] = allocation
        results = [each for found in self.given.values() for each in found["devices"]["results"]]
        whole = [(each["pool"], each["device"]) for each in results if "shareID" not in each]
        assert len(set(whole)) == len(whole), "given twice"
        shares = [each for each in results if "shareID" in each]
        assert len({each["shareID"] for each in shares}) == len(shares)
        used = Counter[str]()
        for each in shares:
            used[each["device"]] += int(each["consumedCapacity"]["memory"])
        assert max(used.values(), default=0) <= MEMORY, "more than there is"

    def choose(self) -> str:
        own = [uid for uid in self.at if f"ns/{uid}" in self.given]
        return self.draw.choice(sorted(own)) if own else ""

    def write(self) -> None:
        """The claim of a task is written, as a binding begins."""
        if uid := self.choose():
            owner = f"ns/{uid}"
            self.written.add(owner)
            self.core.apply([claim_record(owner, claim_spec(exactly("gpu")), self.given[owner], uid)])

    def confirm(self) -> None:
        if uid := self.choose():
            self.core.report([BindingReport(uid, self.at[uid], bound=True)])

    def fail(self) -> None:
        """A binding fails before its claim was written, and the task goes."""
        uid = self.choose()
        if uid and f"ns/{uid}" not in self.written:
            self.core.report([BindingReport(uid, self.at[uid], bound=False, retry=True)])
            self.core.apply([TaskRemoved(uid)])
            del self.given[f"ns/{uid}"], self.at[uid]

    def end(self) -> None:
        if uid := self.choose():
            self.core.apply([TaskRemoved(uid), RecordRemoved(DEVICE_CLAIM_RECORD, f"ns/{uid}")])
            del self.given[f"ns/{uid}"], self.at[uid]
            self.written.discard(f"ns/{uid}")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_no_device_is_given_twice(seed: int):
    world = World(Random(seed))
    steps = [world.submit, world.run, world.write, world.confirm, world.fail, world.end]
    for _ in range(25):
        world.draw.choice(steps)()
    world.run()

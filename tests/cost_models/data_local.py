"""A workload whose tasks read data that lies somewhere, and the count of what has to be moved across racks."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

from cost_models.firmament_policies.input_locations import ANNOTATION
from firmament.core.events import Event
from tests.support.core import machine, task_class, tasks, uids

GIB = 2**30
RACK_LABEL = "topology.kubernetes.io/rack"


@dataclass(frozen=True, slots=True)
class DataLocal:
    """Racks of equal machines, and jobs whose tasks read blocks with copies on a few machines.

    ``copies``: block -> (bytes, machines); ``reads``: uid -> blocks; ``rack_of``: machine -> rack.
    """

    events: list[Event]
    copies: Mapping[str, tuple[int, tuple[str, ...]]]
    reads: Mapping[str, tuple[str, ...]]
    rack_of: Mapping[str, str]

    def across_racks(self, placement: Mapping[str, str]) -> int:
        """Bytes that the placed tasks (machine by uid) fetch from other racks, in all."""
        moved = 0
        for uid, name in placement.items():
            for block in self.reads[uid]:
                size, holders = self.copies[block]
                if self.rack_of[name] not in {self.rack_of[holder] for holder in holders}:
                    moved += size
        return moved


def data_local(*, racks: int, per_rack: int, jobs: int, seed: int = 1) -> DataLocal:
    """Make a workload that fills about three quarters of the machines.

    Every machine takes four tasks. A job's tasks read the same few blocks of 1 to 8 GiB, each with a copy on three
    machines: two in one rack and one in another, as distributed file systems keep them. All lie in half of the
    racks, so that not every task can be near its data.
    """
    chance = random.Random(seed)
    names = [f"r{rack}-m{index}" for rack in range(racks) for index in range(per_rack)]
    rack_of = {name: name.partition("-")[0] for name in names}
    events: list[Event] = [
        machine(name, cpu=4_000, memory=16 * GIB, labels={RACK_LABEL: rack_of[name]}) for name in names
    ]
    copies: dict[str, tuple[int, tuple[str, ...]]] = {}
    reads: dict[str, tuple[str, ...]] = {}
    size = 3 * racks * per_rack // jobs
    for job in range(jobs):
        near, far = sorted(chance.sample(range(racks // 2), 2))
        blocks = tuple(f"j{job}-b{number}" for number in range(chance.randint(1, 3)))
        for block in blocks:
            holders = [*chance.sample(range(per_rack), 2)]
            where = (*(f"r{near}-m{index}" for index in holders), f"r{far}-m{chance.randrange(per_rack)}")
            copies[block] = (chance.randint(1, 8) * GIB, where)
        inputs = json.dumps([{"bytes": copies[b][0], "machine": list(copies[b][1])} for b in blocks])
        content = task_class(cpu=1_000, memory=2 * GIB, annotations=((ANNOTATION, inputs),))
        members = uids(f"j{job}", size)
        events += tasks(job + 1, *members, content=content)
        reads.update(dict.fromkeys(members, blocks))
    return DataLocal(events, copies, reads, rack_of)

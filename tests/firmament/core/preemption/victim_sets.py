"""All sets of victims of small clusters, and what each of them means: what searches are compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from firmament.core.events import ClassDefined, Event, JobDefined, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job, TaskClass
from firmament.core.record_kinds import BUDGET_RECORD
from tests.support.core import machine

PRIORITY = 2


@dataclass(frozen=True)
class Running:
    """``size``: cpu and memory; ``app``: what budgets select by; ``job``: its gang; "" for none."""

    uid: str
    size: tuple[int, int]
    priority: int
    machine: str
    app: str
    job: str


@dataclass(frozen=True)
class Case:
    """``waiting`` equal tasks of ``size``; ``budgets``: what each app's lets go; ``needs``: of gangs; ``whole``: gangs
    that go as a whole or not at all; ``together``: all that wait are one gang.
    """

    machines: dict[str, tuple[int, int]]
    running: tuple[Running, ...]
    size: tuple[int, int]
    waiting: int
    budgets: dict[str, int]
    needs: dict[str, int]
    whole: frozenset[str]
    together: bool

    def events(self) -> list[Event]:
        found: list[Event] = [
            machine(name, cpu=cpu, memory=memory) for name, (cpu, memory) in self.machines.items()
        ]
        found += [
            JobDefined(Job(job, min_members=need, disrupted_whole=job in self.whole))
            for job, need in self.needs.items()
        ]
        for app, allowed in self.budgets.items():
            selector = [{"key": "app", "operator": "In", "values": [app]}]
            payload = {"namespace": "", "selector": selector, "allowed": allowed}
            found.append(RecordUpserted(BUDGET_RECORD, app, json.dumps(payload).encode()))
        for number, task in enumerate(self.running, start=1):
            found.append(ClassDefined(number, content(task.size, task.app)))
            found.append(TasksBound(task.machine, number, (task.uid,), priority=task.priority, job=task.job))
        uids = tuple(f"p{index}" for index in range(self.waiting))
        if self.together:
            found.append(JobDefined(Job("wanted", min_members=self.waiting)))
        found.append(ClassDefined(1000, content(self.size, "")))
        job = "wanted" if self.together else ""
        found.append(TasksSubmitted(1000, uids, priority=PRIORITY, job=job))
        return found


def content(size: tuple[int, int], app: str) -> TaskClass:
    requests = (("cpu", size[0]), ("memory", size[1]))
    return TaskClass(requests=requests, labels=(("app", app),) if app else ())


class Sets:
    """All sets of victims of a case, and what each of them means."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.lower = [task for task in case.running if task.priority < PRIORITY]
        count = len(self.lower)
        self.goes = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        priority = np.array([task.priority for task in self.lower], dtype=int)
        self.top = np.where(self.goes, priority, -1).max(axis=1, initial=-1)
        self.weight = self.goes @ (priority + 2**31)
        self.allowed = np.ones(2**count, dtype=bool)
        for job, need in case.needs.items():
            there = sum(task.job == job for task in case.running)
            gone = self.goes @ np.array([task.job == job for task in self.lower], dtype=int)
            spared = (there - gone >= need) & (job not in case.whole)
            self.allowed &= (gone == 0) | (gone == there) | spared
        self.over = np.zeros(2**count, dtype=int)
        for app, limit in case.budgets.items():
            gone = self.goes @ np.array([task.app == app for task in self.lower], dtype=int)
            self.over += np.maximum(gone - limit, 0)
        self.fits = np.zeros(2**count, dtype=int)
        for name, capacity in case.machines.items():
            used = np.sum([task.size for task in case.running if task.machine == name], axis=0)
            given = self.goes @ np.array(
                [np.multiply(task.size, task.machine == name) for task in self.lower], dtype=int
            ).reshape(count, 2)
            self.fits += ((np.array(capacity) - used + given) // np.array(case.size)).min(axis=1)
        self.fits = np.minimum(self.fits, case.waiting)
        if case.together:
            self.fits[self.fits < case.waiting] = 0

    def of(self, victims: frozenset[str]) -> int:
        """The place of a set."""
        assert victims <= {task.uid for task in self.lower}, "evicted one that is not less important"
        return sum(1 << place for place, task in enumerate(self.lower) if task.uid in victims)

    def best(self) -> tuple[int, int, int, int]:
        """Most tasks that can come; of sets for that, what they exceed budgets by at least; of those the lowest highest
        priority, and of those the smallest sum.
        """
        most = int(self.fits[self.allowed].max())
        good = self.allowed & (self.fits == most)
        found = []
        for column in (self.over, self.top, self.weight):
            least = int(column[good].min())
            good &= column == least
            found.append(least)
        over, top, weight = found
        return most, over, top, weight

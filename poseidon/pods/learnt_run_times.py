"""Names the program that a pod runs, and records how long programs have run, for cost models.

Run times come from pods that succeeded. A record of kind ``RuntimeHistory`` has the program's name and ``{"count": 12,
"meanSeconds": 41.5, "runs": [[38.1, 9], [53.8, 3]]}``; ``runs`` are pairs of seconds and the number of runs that took
about as long.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from protos.firmament.v1 import scheduler_pb2 as pb

PROGRAM = "firmament.io/program"
"""The pod annotation that names the program."""

LONGEST_NAME = 253
"""Longest name of a program in characters, as for names in the API; a longer annotation is ignored."""

_NEVER_DONE = frozenset({"DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet"})
_SCHEDULED_AT = re.compile(r"-\d{8,}$")

KIND = "RuntimeHistory"
MOST_PROGRAMS = 10_000
"""The largest number of programs whose run times are kept.

Beyond, the program whose last run is the oldest is forgotten.
"""

WORTH_TELLING = 0.05
"""Smallest change of a mean that is sent to the solver, as a fraction of the last mean sent."""

TOLD_AT_LEAST = 4
"""Factor by which the number of runs must grow to be sent to the solver, even if the mean has not changed."""

STEPS_PER_OCTAVE = 4
"""Number of steps between a number of seconds and its double, to which run times are rounded up."""


def get_program(pod: Pod) -> str:
    """Return the name of a pod's program: its annotation, else ``namespace/name`` of its job, else "".

    The number that a CronJob appends to the names of its Jobs is left out, so that all its runs count as one program.
    Owners whose pods are not meant to end name no program.
    """
    named = pod.metadata.annotations.get(PROGRAM, "")
    if 0 < len(named) <= LONGEST_NAME:
        return named
    owner = pod.metadata.controller()
    if owner is None or not owner.name or owner.kind in _NEVER_DONE:
        return ""
    return f"{pod.metadata.namespace or 'default'}/{_SCHEDULED_AT.sub('', owner.name)}"


def measure_run_time(pod: Pod) -> float | None:
    """Return the seconds from the start of a pod's first container to the end of its last.

    The result is None if the pod did not succeed, or if its status lacks the times.
    """
    if pod.status.phase != "Succeeded":
        return None
    begins, ends = [], []
    for status in pod.status.container_statuses:
        ended = status.state.terminated
        begin, end = (seconds(ended.started_at), seconds(ended.finished_at)) if ended else (None, None)
        if begin is None or end is None:
            return None
        begins.append(begin)
        ends.append(end)
    return max(0.0, max(ends) - min(begins)) if ends else None


@dataclass(slots=True)
class _Program:
    count: int = 0
    total: float = 0.0
    runs: dict[int, int] = field(default_factory=dict)
    sent_mean: float | None = None
    """Mean run time as last sent on the present stream, None if not sent."""
    sent_count: int = 0
    """Number of runs at that time."""

    @property
    def mean(self) -> float:
        return self.total / self.count

    def add(self, seconds: float) -> None:
        step = math.ceil(math.log2(max(seconds, 1.0)) * STEPS_PER_OCTAVE)
        self.count += 1
        self.total += seconds
        self.runs[step] = self.runs.get(step, 0) + 1

    def is_worth_sending(self) -> bool:
        if self.sent_mean is None or self.count >= TOLD_AT_LEAST * self.sent_count:
            return True
        return abs(self.mean - self.sent_mean) > WORTH_TELLING * self.sent_mean

    def describe(self) -> bytes:
        runs = [[round(2.0 ** (step / STEPS_PER_OCTAVE), 1), self.runs[step]] for step in sorted(self.runs)]
        found = {"count": self.count, "meanSeconds": round(self.mean, 3), "runs": runs}
        return json.dumps(found).encode()


class RuntimeHistory:
    """Mean run times by program; ``changed`` names those that have not been sent on the present stream.

    Run times are computed from the finished pods that the API server still has, so they are not stored. Each pod
    counts only once; pods are remembered until ``forget_pod``.
    """

    def __init__(self, most_programs: int = MOST_PROGRAMS) -> None:
        self._most = most_programs
        self._programs: dict[str, _Program] = {}
        self._counted: set[str] = set()
        self.changed: dict[str, None] = {}

    def count_finished(self, uid: str, pod: Pod) -> None:
        """Count a pod if it has succeeded, and both its program and its times are known."""
        if uid in self._counted:
            return
        name, seconds = get_program(pod), measure_run_time(pod)
        if not name or seconds is None:
            return
        self._counted.add(uid)
        self.count_run(name, seconds)

    def count_run(self, name: str, seconds: float) -> None:
        """Count a run of a program."""
        entry = self._programs.pop(name, None) or _Program()
        self._programs[name] = entry  # The program that ended last comes last.
        entry.add(seconds)
        if entry.is_worth_sending():
            self.changed[name] = None
        if len(self._programs) > self._most:
            oldest = next(iter(self._programs))
            sent = self._programs.pop(oldest).sent_mean is not None
            self.changed.pop(oldest, None)
            if sent:
                self.changed[oldest] = None

    def forget_pod(self, uid: str) -> None:
        """Remove a deleted pod, but keep its run time."""
        self._counted.discard(uid)

    def forget_sent(self) -> None:
        """Begin a stream to a solver that has no records."""
        for entry in self._programs.values():
            entry.sent_mean = None
        self.changed = dict.fromkeys(self._programs)

    def take_events(self) -> list[pb.Event]:
        """Return events for records that are new to the solver, have changed noticeably, or were removed, each once."""
        events = []
        for name in self.changed:
            entry = self._programs.get(name)
            key = pb.RecordKey(kind=KIND, name=name)
            if entry is None:
                events.append(pb.Event(record_removed=key))
                continue
            entry.sent_mean, entry.sent_count = entry.mean, entry.count
            events.append(pb.Event(record=pb.Record(key=key, payload=entry.describe())))
        self.changed.clear()
        return events

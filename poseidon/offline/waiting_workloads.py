"""Lists pending pods by workload: how many wait, and why, the main cause first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from poseidon.offline.plan import Pending
from protos.conventions.number_formats import format_count

_AVAILABLE = re.compile(r"0/(\d{1,9}) nodes are available: ")
_END = re.compile(r"\. (?:preemption|no new claims)|\.(?= |\s*$)")
_COUNTED = re.compile(r"(?:^|, )(\d{1,9}) ")

_NEAREST_LAST = (
    re.compile(r"node\(s\) (?:were|had untolerated taint|didn't match the requested|didn't satisfy plugin)"),
    re.compile(r"node\(s\) didn't match Pod's node affinity"),
    re.compile(r"node\(s\) didn't have free ports"),
    re.compile(r"Insufficient |Too many pods"),
)
"""Texts of causes, in the order of kube-scheduler's filters. A node that only a late filter refuses almost fits."""

_MOST_CAUSES = 3


class WaitingWorkload(NamedTuple):
    """A workload with waiting pods: how many wait because of ``cause``, and how many for other reasons (``others``)."""

    name: str
    pods: int
    cause: str
    others: int

    @property
    def text(self) -> str:
        """The main cause and the number of pods with other reasons, for people."""
        return (
            f"{self.cause} ({format_count(self.others, 'pod')} for other reasons)"
            if self.others
            else self.cause
        )


def waiting_workloads(pending: Iterable[Pending], workloads: Mapping[str, str]) -> list[WaitingWorkload]:
    """Return the waiting workloads, sorted by name; ``workloads`` maps pods to workloads, a missing pod to itself."""
    causes: dict[str, Counter[str]] = {}
    for each in pending:
        found = causes.setdefault(workloads.get(each.pod, each.pod), Counter())
        found[shorten_message(each.reason)] += 1
    rows = []
    for name, counts in sorted(causes.items()):
        (cause, most), *_ = counts.most_common(1)
        rows.append(WaitingWorkload(name, counts.total(), cause, counts.total() - most))
    return rows


def shorten_message(message: str) -> str:
    """Return a ``FailedScheduling`` message in short: its causes with their numbers of nodes.

    The causes that late filters found come first, because the nodes concerned almost fit. ``0/4 nodes are available:
    1 node(s) were unschedulable, 3 Insufficient cpu. ...`` becomes ``Insufficient cpu (3 of 4 nodes), node(s) were
    unschedulable (1)``. If other text, such as a message about a gang, precedes kube-scheduler's sentence, that text
    comes last.
    """
    found = _AVAILABLE.search(message)
    if found is None:
        return message.rstrip(".")
    body = _END.split(message[found.end() :], maxsplit=1)[0]
    first, *parts = _COUNTED.split(body)
    causes = list(zip(parts[1::2], map(int, parts[::2]), strict=True))
    before = message[: found.start()].rstrip(": .")
    after = f"; {before}" if before else ""
    if not causes:
        return f"{first}{after}"
    causes.sort(key=lambda each: (-_nearness(each[0]), -each[1], each[0]))
    total = int(found[1])
    (text, count), *others = causes[:_MOST_CAUSES]
    listed = [
        f"{text} ({count} of {format_count(total, 'node')})",
        *(f"{name} ({many})" for name, many in others),
    ]
    more = len(causes) - len(listed)
    return ", ".join(listed) + (f" and {format_count(more, 'more cause')}" if more > 0 else "") + after


def _nearness(cause: str) -> int:
    return next((stage for stage, text in enumerate(_NEAREST_LAST) if text.match(cause)), len(_NEAREST_LAST))

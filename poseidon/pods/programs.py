"""What a pod runs, by a name that its like will bear again, and for how long it ran."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poseidon.kube.parsing.times import seconds

if TYPE_CHECKING:
    from poseidon.kube.api.core import Pod

PROGRAM = "firmament.io/program"
"""The pod annotation that names the program."""

LONGEST_NAME = 253
"""Characters of a program's name, as of names in the API; a longer annotation counts as none."""

_NEVER_DONE = frozenset({"DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet"})
_SCHEDULED_AT = re.compile(r"-\d{8,}$")


def program(pod: Pod) -> str:
    """Return the annotation, else ``namespace/name`` of the pod's job, else "" for unknown.

    The number that a CronJob appends to the names of its Jobs is left out: all its runs are one program. Owners
    whose pods are not meant to end name no program.
    """
    named = pod.metadata.annotations.get(PROGRAM, "")
    if 0 < len(named) <= LONGEST_NAME:
        return named
    owner = pod.metadata.controller()
    if owner is None or not owner.name or owner.kind in _NEVER_DONE:
        return ""
    return f"{pod.metadata.namespace or 'default'}/{_SCHEDULED_AT.sub('', owner.name)}"


def runtime(pod: Pod) -> float | None:
    """Return the seconds from the start of a pod's first container to the end of its last.

    None if the pod did not succeed, or its status does not say.
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

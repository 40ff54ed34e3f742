"""Counts writes in the audit log of an API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

POLICY: Mapping[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata"},
    ],
}
"""What is written down: one line for each request that changes something."""


class Write(msgspec.Struct, frozen=True):
    """A request that changed something in the API server, or tried to."""

    agent: str
    """The first word of the user agent."""
    what: str
    """The verb and the resource, such as ``patch jobs`` or ``update workloads/status``."""
    at: float
    """When the API server received it, in seconds since the epoch."""


class _Reference(msgspec.Struct):
    resource: str = ""
    subresource: str = ""


class _Line(msgspec.Struct, rename="camel"):
    verb: str
    request_received_timestamp: datetime
    user_agent: str = ""
    object_ref: _Reference | None = None


def read_writes(log: Path, agents: Container[str]) -> list[Write]:
    """Return the writes of programs with these user agents; those to their own leases of election do not count.

    The API server may be writing at the end of the log: a last line without a newline is left out.
    """
    with log.open("rb") as lines:
        found = [_read(msgspec.json.decode(line, type=_Line)) for line in lines if line.endswith(b"\n")]
    return [each for each in found if each.agent in agents and not each.what.endswith(" leases")]


def _read(line: _Line) -> Write:
    about = line.object_ref or _Reference()
    resource = "/".join(filter(None, (about.resource, about.subresource)))
    agent = line.user_agent.partition("/")[0].partition(" ")[0]
    return Write(agent, f"{line.verb} {resource}", line.request_received_timestamp.timestamp())


def count_writes(writes: Iterable[Write]) -> dict[str, int]:
    """Return how often each kind of write occurred, the most frequent first."""
    return dict(Counter(each.what for each in writes).most_common())


def find_longest_delay(times: Sequence[float], per_second: float, burst: int) -> float:
    """Return by how many seconds a limit of requests, a bucket of tokens, would have delayed one of them at most."""
    left, latest, longest = float(burst), 0.0, 0.0
    for time in sorted(times):
        left = min(burst, left + (time - latest) * per_second) - 1.0
        latest = time
        longest = max(longest, -left / per_second)
    return longest

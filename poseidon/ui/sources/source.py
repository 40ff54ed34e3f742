"""The interface of sources that the server needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from poseidon.explanations import Verdict
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known
    from protos.firmament.v1 import scheduler_pb2 as pb


class NotExplainedError(Exception):
    """There are no verdicts on a pod; the text says why."""


class Source(Protocol):
    """A source of data: ``known`` holds the present data; the methods fetch more."""

    known: Known

    async def run(self) -> None:
        """Update ``known``, until cancelled or until all is read."""
        ...

    async def flow(self, number: int) -> pb.RoundFlow | None:
        """Return the flow of a round (0: the newest), None if there is none."""
        ...

    async def verdicts(self, pod: PodEntry) -> Mapping[str, Verdict]:
        """Return the verdict of each node on a pod. Raises ``NotExplainedError``."""
        ...

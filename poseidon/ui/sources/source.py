"""Interface of the sources from which the server gets its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from poseidon.explanations import Verdict
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known
    from protos.firmament.v1 import scheduler_pb2 as pb


class NotExplainedError(Exception):
    """Raised if a source has no verdicts on a pod; the text of the error says why."""


class Source(Protocol):
    """A source of the dashboard's data: ``known`` holds the present data, and the methods read more."""

    known: Known

    async def run(self) -> None:
        """Update ``known`` until cancelled, or until everything is read."""
        ...

    async def flow(self, number: int) -> pb.RoundFlow | None:
        """Return the flow of a round (0: the newest), or None if there is none."""
        ...

    async def verdicts(self, pod: PodEntry) -> Mapping[str, Verdict]:
        """Return the verdict of each node on a pod.

        Raises ``NotExplainedError`` if the source has no verdicts on the pod.
        """
        ...

"""The section of the configuration about what clients may ask of the solver at most; the solver heeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field, StrictInt

from protos.conventions.configuration import PositiveDuration, Section

if TYPE_CHECKING:
    from firmament.core.configuration import Quota

_MIB = 2**20
Streams: TypeAlias = Annotated[StrictInt, Field(ge=1, le=10_000)]
Count: TypeAlias = Annotated[StrictInt, Field(ge=1, le=100_000_000)]


class LimitSection(Section):
    """Beyond these a client is turned away, with a message that names the limit; all others go on.

    ``hello_timeout`` (10 s): until when a new stream must have said who it is. ``streams`` (32): open at the same time,
    of all clusters; ``clusters`` (32): with an open stream. ``questions`` (16): `Explain`, `ListState`,
    `ExportNetwork` and `Schedule` under way at the same time. ``message_bytes`` (32 MiB): of one message; each stream
    may have one under way. Per cluster: ``tasks`` (2,000,000, of jobs as many), ``machines`` (200,000), ``classes``
    (500,000), ``records`` (500,000), and ``record_bytes`` (1 MiB) of a record, a larger one being set aside.
    """

    hello_timeout: PositiveDuration = 10.0
    streams: Streams = 32
    clusters: Streams = 32
    questions: Streams = 16
    message_bytes: Annotated[StrictInt, Field(ge=_MIB, le=1024 * _MIB)] = 32 * _MIB
    tasks: Count = 2_000_000
    machines: Count = 200_000
    classes: Count = 500_000
    records: Count = 500_000
    record_bytes: Annotated[StrictInt, Field(ge=1024, le=1024 * _MIB)] = _MIB

    def quota(self) -> Quota:
        """Return what concerns single clusters, as the core takes it."""
        from firmament.core.configuration import Quota

        return Quota(
            tasks=self.tasks,
            machines=self.machines,
            classes=self.classes,
            records=self.records,
            record_bytes=self.record_bytes,
        )

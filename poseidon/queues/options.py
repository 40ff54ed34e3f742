"""The section ``queues`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, WithJsonSchema

from protos.conventions.configuration import Section

QueueSource: TypeAlias = Literal["kueue", "volcano", "kai", "koordinator", "scheduler-plugins"]
"""A project whose queues can be read."""

SOURCES: Final[tuple[QueueSource, ...]] = get_args(QueueSource)
"""All of them; of several whose queue a pod is in, the first counts."""


def _accept_one(value: object) -> object:
    """Accept the shorthand ``source: kueue`` for a list of one."""
    return [value] if isinstance(value, str) else value


class QueueOptions(Section):
    """The section ``queues``: whose queues are read, and who admits.

    Nothing is read by default. With ``admission: kueue``, Kueue admits the pods of its own queues, and nothing is done
    about these here; with ``poseidon``, the rounds of the solver admit them. ``fair_sharing`` is what Kueue has in its
    own configuration: whether shares decide who borrows.
    """

    source: Annotated[
        tuple[QueueSource, ...],
        BeforeValidator(_accept_one),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "enum": list(SOURCES)},
                    {"type": "array", "items": {"type": "string", "enum": list(SOURCES)}},
                ]
            }
        ),
    ] = ()
    admission: Literal["kueue", "poseidon"] = "kueue"
    fair_sharing: bool = False

    @property
    def admits(self) -> bool:
        """Whether some queue's pods are admitted here."""
        return any(self.enforces(source) for source in self.source)

    def enforces(self, source: QueueSource) -> bool:
        """Return whether the quotas of a project's queues hold here."""
        return source in self.source and (source != "kueue" or self.admission == "poseidon")

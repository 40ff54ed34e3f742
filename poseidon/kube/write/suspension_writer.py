"""Resumes and suspends objects that own pods: writes one field, unless the object has changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.media_types import JSON_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import RetryOptions, Tries, WorkerPool, outrun

_AT_A_TIME = 16


class SuspensionWrite(NamedTuple):
    """Set ``field`` of an object to ``suspended``, if its spec is still of this ``generation``."""

    about: ObjectRef
    collection: str
    field: tuple[str, ...]
    generation: int
    suspended: bool

    @property
    def uid(self) -> str:
        """The uid of the object."""
        return self.about.uid

    @property
    def path(self) -> str:
        """The object's path on the API server."""
        version, _, plural = self.collection.rpartition("/")
        return f"{version}/namespaces/{self.about.namespace}/{plural}/{self.about.name}"

    def list_operations(self) -> list[dict[str, Any]]:
        """Return the operations of a JSON patch that fails for another object of this name, or a changed spec."""
        tests: list[tuple[str, Any]] = [("/metadata/uid", self.about.uid)]
        if self.generation:
            tests.append(("/metadata/generation", self.generation))
        at = "/".join(("", *self.field))
        if not self.suspended:
            tests.append((at, True))
        return [
            *({"op": "test", "path": path, "value": value} for path, value in tests),
            {"op": "add", "path": at, "value": self.suspended},
        ]


class SuspensionEnd(NamedTuple):
    """The end of a write that resumes or suspends an object: ``refusal`` is "" if it succeeded, else why it failed.

    ``overtaken``: whether the object has changed since it was read, perhaps by an earlier try of this write; the
    watch will show the change.
    """

    write: SuspensionWrite
    refusal: str = ""
    overtaken: bool = False


class SuspensionWriter(WorkerPool[SuspensionWrite]):
    """A writer that suspends and resumes objects until cancelled.

    ``on_end`` is called once per write, in the event loop's thread. If an answer is lost, the next try fails, because
    the field has its new value already; the watch will show that.
    """

    def __init__(
        self,
        environment: Environment,
        on_end: Callable[[SuspensionEnd], None],
        options: RetryOptions | None = None,
    ) -> None:
        super().__init__(self._carry_out, lambda: _AT_A_TIME)
        self._environment = environment
        self._on_end = on_end
        self._options = options or RetryOptions()

    async def _carry_out(self, write: SuspensionWrite) -> None:
        try:
            end = await self._write(write)
        except Exception as error:  # noqa: BLE001 - one write that cannot be made must not end the others
            end = SuspensionEnd(write, f"cannot be written: {error!r}")
        self._on_end(end)

    async def _write(self, write: SuspensionWrite) -> SuspensionEnd:
        """Write with retries."""
        body = msgspec.json.encode(write.list_operations())
        transport = self._environment.transport
        tries = Tries(self._options, self._environment.random, self._environment.clock)
        try:
            await tries.persist(
                lambda: transport.patch(write.path, body, JSON_PATCH), self._environment.sleep, outrun
            )
        except ApiError as error:
            overtaken = error.status == HTTPStatus.UNPROCESSABLE_ENTITY
            why = "has changed meanwhile" if overtaken else str(error)
            return SuspensionEnd(write, f"{write.about.kind} {write.about}: {why}", overtaken)
        except KubeError as error:
            return SuspensionEnd(write, str(error))
        return SuspensionEnd(write)

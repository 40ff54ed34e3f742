"""What writers of patches have in common: one queue behind bindings, of each object the latest write as one patch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.write.write_behind import WriteBehind, WriteBehindOptions

if TYPE_CHECKING:
    from poseidon.kube.client.metrics import KubeMetrics
    from poseidon.kube.client.transport import Transport

W = TypeVar("W")


class PatchWriter(ABC, Generic[W]):
    """Writes patches of one ``kind``, in the ``format`` of a patch's content type.

    ``wait_quiet`` returns once no binding waits.
    """

    kind: ClassVar[str]
    format: ClassVar[str] = MERGE_PATCH

    def __init__(
        self,
        transport: Transport,
        *,
        wait_quiet: Callable[[], Awaitable[None]],
        metrics: KubeMetrics,
        random: Random,
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._transport = transport
        self._queue: WriteBehind[W] = WriteBehind(
            self.kind, self._perform, wait_quiet, metrics=metrics, random=random, options=options
        )

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def wait_drained(self) -> None:
        """Wait until nothing waits."""
        await self._queue.wait_drained()

    @abstractmethod
    def _patch(self, write: W) -> tuple[str, Mapping[str, Any]]:
        """Return the path of a write's object, and the patch.

        The patch bears the object's uid, which makes the server refuse it when a namesake has taken the object's place.
        """

    async def _perform(self, write: W) -> None:
        path, patch = self._patch(write)
        await self._transport.patch(path, msgspec.json.encode(patch), self.format)

"""Manages memory that two processes share, and lays out a flow problem in it.

The memory has no name in any file system: the worker inherits its file descriptor. The system frees the memory when
the last process that holds it ends, for whatever reason. The size of /dev/shm, which containers keep small, does not
limit it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from firmament.solvers.base import FlowProblem, Int64

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1 << 20


class SharedRegion:
    """A piece of shared memory that can grow.

    Views on the region stay valid when it grows or closes, until they are dropped.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory: mmap.mmap | None = None

    @classmethod
    def create(cls) -> SharedRegion:
        """Return a new, empty region."""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("firmament-solver", os.MFD_CLOEXEC))
        with tempfile.TemporaryFile() as file:  # The file has no name any more: only the descriptor exists.
            return cls(os.dup(file.fileno()))

    def views(self, arcs: int, nodes: int) -> tuple[FlowProblem, Int64]:
        """Return views of the region: the arrays of a problem of the given size, and of its flows (int64[A]).

        The region grows if needed.
        """
        memory = self._map(8 * (3 * arcs + nodes) + 4 * 2 * arcs)
        offset = 0

        def allocate(count: int, dtype: type[np.generic]) -> NDArray[Any]:
            nonlocal offset
            array = np.frombuffer(memory, dtype=dtype, count=count, offset=offset)
            offset += array.nbytes
            return array

        capacities, costs, flows = (allocate(arcs, np.int64) for _ in range(3))
        supplies = allocate(nodes, np.int64)
        tails, heads = (allocate(arcs, np.int32) for _ in range(2))
        return FlowProblem(tails, heads, capacities, costs, supplies), flows

    def close(self) -> None:
        """Release the memory, once no view on it exists; a second call has no effect."""
        self._memory = None
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _map(self, needed: int) -> mmap.mmap:
        """Return a mapping of at least ``needed`` bytes; the process that first needs more bytes enlarges the file."""
        if self._memory is None or len(self._memory) < needed:
            size = os.fstat(self.descriptor).st_size
            if size < max(needed, 1):
                size = max(_SMALLEST, needed + needed // 2)
                os.ftruncate(self.descriptor, size)
            self._memory = mmap.mmap(self.descriptor, size)
        return self._memory

"""How much memory the arrays of an object take, exactly and at once, unlike what the system says of a process."""

from __future__ import annotations

import gc
from types import ModuleType

import numpy as np


def array_bytes(owner: object) -> int:
    """Bytes of all numpy arrays that can be reached from ``owner``, each memory counted once."""
    seen = {id(owner)}
    waiting, buffers = [owner], dict[int, int]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, np.ndarray):
            while isinstance(each.base, np.ndarray):
                each = each.base
            buffers[id(each)] = each.nbytes
            continue
        for other in gc.get_referents(each):
            if not isinstance(other, (type, ModuleType)) and id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    return sum(buffers.values())

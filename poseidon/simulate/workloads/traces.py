"""Reads recorded work in any of the supported formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.azure_llm import read_azure_llm
from poseidon.simulate.workloads.clusters import (
    read_alibaba,
    read_google_2011,
    read_google_2019,
    read_helios,
    read_philly,
)
from poseidon.simulate.workloads.columns import Work
from poseidon.simulate.workloads.kueue import read_kueue
from poseidon.simulate.workloads.openb import read_openb
from poseidon.simulate.workloads.swf import read_swf


class TraceError(ValueError):
    """Raised if a trace cannot be read; the text names file, position and fault in one line."""


class Recorded(NamedTuple):
    """The content of a trace: its work, and the nodes on which the work ran, if the trace contains them."""

    work: Work
    nodes: tuple[dict[str, Any], ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    """Manifests of other objects in the trace, such as queues."""


_Objects: TypeAlias = tuple[dict[str, Any], ...]
_Read: TypeAlias = tuple[Work, _Objects] | tuple[Work, _Objects, _Objects]
_FROM_THE_BEGINNING = frozenset({"kueue"})
"""Formats whose times count from the beginning of the simulation, and not from the first arrival."""

_READERS: Mapping[str, Callable[[Path, Trace], _Read]] = MappingProxyType(
    {
        "openb": read_openb,
        "swf": read_swf,
        "azure-llm": read_azure_llm,
        "kueue": read_kueue,
        "google-2011": read_google_2011,
        "google-2019": read_google_2019,
        "alibaba-2018": read_alibaba,
        "philly": read_philly,
        "helios": read_helios,
    }
)


def read_trace(part: Trace, folder: Path) -> Recorded:
    """Return the content of a trace, whose path is relative to ``folder``.

    Raises ``TraceError`` if the trace cannot be read.
    """
    path = folder / part.path
    try:
        found = Recorded(*_READERS[part.format](path, part))
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}; name a readable file") from error
    except (ValueError, KeyError) as error:
        raise TraceError(f"{path}: {error}") from error
    if not len(found.work):
        raise TraceError(f"{path} holds no work that could be used; check its format, {part.format}")
    work = found.work.take_first(part.first)
    begin = 0.0 if part.format in _FROM_THE_BEGINNING else float(np.min(work.arrival))
    return found._replace(work=replace(work, arrival=(work.arrival - begin) / part.faster))

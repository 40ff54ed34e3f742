"""Saves a running simulation to a file, and resumes it with the same results as without the interruption.

The file is a pickle, which can run any code: read only files that you have written yourself.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from types import MappingProxyType
from typing import Any

from poseidon.simulate.engine import Simulation

_BEGINS = b"poseidon simulation 2\n"
"""The first line of a saved simulation.

The number in the first line rises whenever the content of a saved simulation changes.
"""


class CheckpointError(ValueError):
    """Raised if a file holds no simulation, or one of another version; the text is one line."""


def _freeze(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


class _Pickler(pickle.Pickler):
    """A pickler that also accepts immutable maps, which Python's own pickler refuses."""

    def reducer_override(self, value: Any) -> Any:
        """Return how to pickle an immutable map: as a dictionary that is made immutable again after loading."""
        return (_freeze, (dict(value),)) if isinstance(value, MappingProxyType) else NotImplemented


def to_bytes(simulation: Simulation) -> bytes:
    """Return a simulation as bytes, from which ``from_bytes`` makes copies."""
    kept = io.BytesIO()
    _Pickler(kept, protocol=pickle.HIGHEST_PROTOCOL).dump(simulation)
    return kept.getvalue()


def from_bytes(kept: bytes) -> Simulation:
    """Return a copy of the simulation that ``to_bytes`` turned into bytes."""
    found = pickle.loads(kept)  # noqa: S301  # made in this process
    assert isinstance(found, Simulation)
    found.record.resume()
    return found


def save(simulation: Simulation, path: Path) -> None:
    """Write a simulation to a file, completely or not at all. Raises ``OSError`` if the file cannot be written."""
    beside = path.with_name(f"{path.name}.part")
    with beside.open("wb") as file:
        file.write(_BEGINS)
        _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(simulation)
    beside.replace(path)


def resume(path: Path) -> Simulation:
    """Read a simulation from a file that ``save`` has written.

    Raises ``CheckpointError`` if the file cannot be used.
    """
    try:
        with path.open("rb") as file:
            if file.readline() != _BEGINS:
                raise CheckpointError(f"{path} is not a simulation of this version; begin anew")
            found = pickle.load(file)  # noqa: S301  # the user's own file; the guide says so
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError) as error:
        raise CheckpointError(f"{path} is cut off, or of another version: {error}; begin anew") from error
    assert isinstance(found, Simulation)
    found.record.resume()
    return found

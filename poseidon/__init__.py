"""Contains the bridge, which connects the API server of Kubernetes with the solver by the solver's protocol.

``plan``, ``explain``, ``audit`` and ``read`` are the Python interface (``poseidon.api``). These parts are imported on
first use, so that programs without them do not start more slowly.
"""

import logging
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_INTERFACE = frozenset({"audit", "explain", "plan", "read"})

# Commands that do not log write no log records to the terminal; commands that log add handlers of their own.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def _refuse_foreign(*names: str) -> None:
    """Raise ``ImportError`` if Python finds another package or folder of a name that belongs to this distribution.

    The names of this distribution's packages are plain words, so other distributions may use them, too (decision
    0038).
    """
    here = Path(__file__).resolve().parents[1]
    for name in names:
        found = Path(next(iter(import_module(name).__path__)))
        if found.resolve().parent != here:
            raise ImportError(
                f"the package {name!r} that Python finds first is not the one of poseidon-firmament: {found}; "
                "start Python in another folder, or install poseidon-firmament into an environment of its own",
                name=name,
            )


_refuse_foreign("protos")


def __getattr__(name: str) -> Any:
    """Return a function of the Python interface; types are in ``__init__.pyi``."""
    if name in _INTERFACE:
        return getattr(import_module("poseidon.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that completion in a Python shell shows."""
    return sorted({*globals(), *_INTERFACE})

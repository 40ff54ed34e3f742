"""Poseidon: the bridge. It speaks Kubernetes on one side and the solver's protocol on the other.

``plan``, ``explain``, ``audit`` and ``read`` are its Python interface (``poseidon.api``). They are loaded when they are
first asked for, so that programs that do not use them start as fast as without.
"""

import logging
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_INTERFACE = frozenset({"audit", "explain", "plan", "read"})

# Commands that do not log have nothing printed; those that do add handlers of their own.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Return a function of the Python interface; types are in ``__init__.pyi``."""
    if name in _INTERFACE:
        return getattr(import_module("poseidon.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that completion offers."""
    return sorted({*globals(), *_INTERFACE})

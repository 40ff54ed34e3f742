"""Reads constants and defaults of modules by their names, for tests that state what these are."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from inspect import signature
from typing import Any


def read_figures(names: Iterable[str]) -> dict[str, Any]:
    """Return the values of ``module:NAME`` (a constant) and ``module:Class.field`` (a default), by name."""
    return {name: _read(name) for name in names}


def _read(name: str) -> Any:
    module, _, path = name.partition(":")
    owner, _, field = path.partition(".")
    found = getattr(import_module(module), owner)
    if not field:
        return found
    if fields := getattr(
        found, "model_fields", None
    ):  # pydantic's classes know their fields by Python's names
        return fields[field].default
    return signature(found).parameters[field].default

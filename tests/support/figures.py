"""Reads constants and defaults of modules by their names, for tests that state what these are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from importlib import import_module
from inspect import signature
from typing import Any


def read_figures(names: Iterable[str]) -> dict[str, Any]:
    """Return values by name: of ``module:NAME`` (a constant), and of defaults.

    Defaults are ``module:function.parameter``, ``module:Class.field``, or ``module:Class.method.parameter``.
    """
    return {name: _read(name) for name in names}


def _read(name: str) -> Any:
    module, _, path = name.partition(":")
    first, *rest = path.split(".")
    found = getattr(import_module(module), first)
    if not rest:
        return found
    *methods, field = rest
    for method in methods:
        found = getattr(found, method)
    if fields := getattr(
        found, "model_fields", None
    ):  # pydantic's classes know their fields by Python's names
        return fields[field].default
    parameters = signature(found).parameters
    if field not in parameters:  # a field that whoever makes the object does not give
        return next(each.default for each in dataclasses.fields(found) if each.name == field)
    return parameters[field].default

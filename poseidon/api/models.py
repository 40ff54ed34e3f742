"""Lets a program, such as a notebook, use cost models that it defines itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from poseidon.api.errors import InputError


@dataclass(frozen=True, slots=True)
class UseModel:
    """A cost model to plan with, with its weight (1 to 1000) and arguments."""

    model: type
    """The class of the cost model; ``cost_models.interface`` describes its methods."""
    weight: int = 1
    """The weight by which the model's points are multiplied."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """The keyword arguments of the model's constructor."""


def name_classes(models: Iterable[type | UseModel] | type | UseModel) -> dict[str, UseModel]:
    """Return models by name; a single model may be given without a list.

    Raises ``InputError`` for classes that are no models or have no name, and for two models of one name.
    """
    found: dict[str, UseModel] = {}
    for each in [models] if isinstance(models, (type, UseModel)) else models:
        used = each if isinstance(each, UseModel) else UseModel(each)
        model: Any = used.model  # the caller's object, which may have any type
        name = getattr(model, "name", None)
        if not isinstance(model, type) or not isinstance(name, str) or not name:
            what = "give classes with a name and a kind, as cost_models.interface.BaseModel says"
            if name and not isinstance(model, type):
                what = "give its class, with arguments as UseModel(Class, args={...})"
            raise InputError([f"models: {used.model!r} is not a cost model; {what}"])
        if name in found:
            raise InputError([f"models: {name} is given twice; remove one"])
        found[name] = used
    return found


def add_models(document: Mapping[str, Any], models: Mapping[str, UseModel]) -> dict[str, Any]:
    """Return the configuration with ``models``: a policy replaces the configuration's policy, overlays are added.

    A model that the configuration already names is used with the weight and arguments stated there.
    """
    changed = dict(document)
    overlays = list(changed.get("costModels") or ())
    profiles = [each for each in changed.get("profiles") or () if isinstance(each, Mapping)]
    listed = [
        each
        for part in (changed, *profiles)
        for each in (part.get("policy"), *(part.get("costModels") or ()))
    ]
    named = {each.get("name") for each in listed if isinstance(each, Mapping)}
    for name, used in models.items():
        section = {"name": name, "weight": used.weight, "args": dict(used.args)}
        if name in named:
            continue
        if getattr(used.model, "kind", "") == "policy":
            changed["policy"] = section
        else:
            overlays.append(section)
    return {**changed, "costModels": overlays} if overlays else changed


def check_answers(model: type) -> type:
    """Return a subclass of a model that checks its answers, and raises ``InputError`` for wrong answers.

    Without the check, a mistake in a model would cause an error elsewhere in the solver, or wrong figures.
    """
    assess = getattr(model, "assess", None)
    if not callable(assess):
        return model

    @wraps(assess)
    def assess_checked(self: Any, machines: Any, shapes: Any) -> Any:
        answer = assess(self, machines, shapes)
        fault = _find_fault(answer, shapes.count, machines.count)
        if fault:
            raise InputError([f"models: {getattr(model, 'name', model.__name__)}: assess {fault}"])
        return answer

    own = {"assess": assess_checked, "__doc__": model.__doc__, "__module__": model.__module__}
    return type(model.__name__, (model,), own)


def _find_fault(answer: Any, shapes: int, machines: int) -> str | None:
    """Return the fault of an answer of ``assess`` for so many shapes and machines, None if there is none."""
    if not hasattr(answer, "raw"):
        return f"returned {type(answer).__name__}; return Assessment(raw=...)"
    raw, rows = answer.raw, f"one row for each of {shapes} shapes, one column for each of {machines} machines"
    if not isinstance(raw, np.ndarray) or raw.dtype.kind not in "iuf":
        held = f"an array of {raw.dtype}" if isinstance(raw, np.ndarray) else type(raw).__name__
        return f"gave {held} as raw; give an array of numbers: {rows}"
    if raw.shape not in {(shapes, machines), (shapes, 1)}:
        return f"gave raw the shape {raw.shape}; give it {rows}"
    if not np.isfinite(raw).all():
        row, column = np.argwhere(~np.isfinite(raw))[0]
        return f"gave {raw[row, column]} as raw[{row}, {column}]; give a finite number for each shape and machine"
    return None

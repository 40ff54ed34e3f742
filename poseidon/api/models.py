"""Cost models that a program brings along, such as a class in a cell of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from poseidon.api.errors import InputError


@dataclass(frozen=True, slots=True)
class UseModel:
    """A cost model to plan with, its weight (1 to 1000), and what its constructor is given."""

    model: type
    """The class; ``cost_models.interface`` says what it has."""
    weight: int = 1
    """How much its points count."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of its constructor."""


def name_classes(models: Iterable[type | UseModel]) -> dict[str, UseModel]:
    """Return models by their names. Raises ``InputError`` for classes that are no models, or have no name of their
    own."""
    found: dict[str, UseModel] = {}
    for each in models:
        used = each if isinstance(each, UseModel) else UseModel(each)
        name = getattr(used.model, "name", None)
        if not isinstance(used.model, type) or not isinstance(name, str) or not name:
            what = "give classes with a name and a kind, as cost_models.interface.BaseModel says"
            raise InputError([f"models: {used.model!r} is not a cost model; {what}"])
        if name in found:
            raise InputError([f"models: {name} is given twice; remove one"])
        found[name] = used
    return found


def add_models(document: Mapping[str, Any], models: Mapping[str, UseModel]) -> dict[str, Any]:
    """Return a configuration that uses ``models``, too: policies instead of its own, overlays beside its own.

    One that the configuration names already is used as it says there.
    """
    changed = dict(document)
    overlays = list(changed.get("costModels") or ())
    listed = (changed.get("policy"), *overlays)
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

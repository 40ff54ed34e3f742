"""The arguments of cost models that the bridge heeds: where objects are that only it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError

from poseidon.app_network.options import NetworkArguments
from poseidon.group_trees.spec.trees import TreeArguments
from protos.conventions.configuration import Section
from protos.conventions.configuration_shared import ModelSection

Arguments = TypeVar("Arguments", bound=Section)

_HEEDED: Mapping[type[Section], str] = MappingProxyType(
    {NetworkArguments: "network_overhead", TreeArguments: "topology"}
)
"""The models that they are arguments of."""


def arguments_for(kind: type[Arguments], models: Iterable[ModelSection]) -> Arguments:
    """Return the arguments of the model concerned, defaults where there are none."""
    given: Mapping[str, Any] = next((each.args for each in models if each.name == _HEEDED[kind]), {})
    return _read(kind, given)


def argument_faults(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with them in a raw document; models that would refuse them may not be installed here."""
    models = document.get("costModels")
    given = [each for each in models if isinstance(each, Mapping)] if isinstance(models, list) else []
    for kind, name in _HEEDED.items():
        for each in given:
            args = each.get("args")
            if each.get("name") == name and isinstance(args, Mapping):
                yield from (f"costModels: {name}: {fault}" for fault in _faults(kind, args))


def _faults(kind: type[Section], args: Mapping[str, Any]) -> Iterator[str]:
    try:
        _read(kind, args)
    except ValidationError as error:
        found = error.errors()
        texts = {each["loc"][0] for each in found if each["loc"][1:] or each["type"] == "tuple_type"}
        for key in dict.fromkeys(each["loc"][0] for each in found):
            wanted = "a list of texts" if key in texts else "a text"
            yield f"args.{key}: is {args[str(key)]!r}; write {wanted}"


def _read(kind: type[Arguments], given: Mapping[str, Any]) -> Arguments:
    stated = {key: each for key, each in given.items() if each not in (None, "", [])}
    return kind.model_validate(stated, by_alias=True, by_name=False)

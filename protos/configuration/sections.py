"""The configuration that both programs read: base classes of its sections, and of the document of each program.

The file is one, each program has a model of its own part. Of the other part it knows what stands in
``defaults.yaml``: the names of the sections, and their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel

from protos.conventions.durations import duration_schema, parse_duration
from protos.conventions.secrets import redact_configuration

API_VERSION: Final = "firmament.io/v1alpha1"
KIND: Final = "SchedulerConfiguration"


Duration: TypeAlias = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(ge=0, le=3600, allow_inf_nan=False),
    duration_schema(minimum=0, maximum=3600),
]
PositiveDuration: TypeAlias = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(gt=0, le=3600, allow_inf_nan=False),
    duration_schema(exclusiveMinimum=0, maximum=3600),
]


class Section(BaseModel):
    """Base of all sections: camelCase in YAML, snake_case in Python, unknown keys refused, immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class Document(Section):
    """One program's part of the configuration; a subclass has a field for each section that the program uses."""

    api_version: Literal["firmament.io/v1alpha1"] = API_VERSION
    kind: Literal["SchedulerConfiguration"] = KIND
    _others: dict[str, Any] = PrivateAttr()

    def model_post_init(self, context: object) -> None:
        """Keep the sections of the other program: those that ``part_of`` has read (``context``), else the defaults."""
        self._others = context if isinstance(context, dict) else self.others_of({})

    @classmethod
    def others_of(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sections of a document that belong to the other program, with defaults filled in."""
        own = {field.alias for field in cls.model_fields.values()}
        return {key: _fill(each, given.get(key, each)) for key, each in defaults().items() if key not in own}

    @classmethod
    def part_of(cls, given: Mapping[str, Any]) -> Self:
        """Read this program's part of a document, and keep the other sections unchecked. Raises ``ValidationError``."""
        others = cls.others_of(given)
        own = {key: each for key, each in given.items() if key not in others}
        return cls.model_validate(own, by_alias=True, by_name=False, context=others)

    def effective_yaml(self) -> str:
        """Return the whole configuration as YAML with every default filled in; it can be read again.

        Sections of the other program are written as given, in the form of their defaults. Credentials are removed
        (``protos.conventions.secrets``), since the text is shown to people and put into archives.
        """
        known = {**self._others, **self.model_dump(by_alias=True, mode="json")}
        whole = redact_configuration({key: known[key] for key in defaults()})
        return yaml.safe_dump(whole, sort_keys=False, default_flow_style=False, allow_unicode=True)


@lru_cache(maxsize=1)
def defaults() -> Mapping[str, Any]:
    """Return the default of every section by name, in the order in which sections are printed."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("defaults.yaml").read_bytes())
    return found


def _fill(default: object, given: object) -> object:
    """Return a given value in the form of its default, with defaults for missing keys."""
    if isinstance(default, dict) and isinstance(given, dict):
        return {key: _fill(default.get(key, each), each) for key, each in {**default, **given}.items()}
    if isinstance(default, list) and isinstance(given, str):
        return [given]
    if isinstance(default, str) and given is False:
        return "off"
    try:
        return parse_duration(given) if isinstance(default, float) else given
    except ValueError:
        return given

"""The file of a sweep: a scenario and values for some of its fields; each combination of values is one run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from poseidon.simulate.scenario.document import API_VERSION, Scenario, check_scenario
from poseidon.simulate.scenario.document import KIND as SCENARIO
from protos.configuration.error_messages import explain_error
from protos.configuration.file import ConfigurationError, read_document
from protos.configuration.sections import Section

KIND: Final = "Sweep"
MOST_RUNS: Final = 100_000
_PART = re.compile(r"([A-Za-z][A-Za-z0-9]*)((?:\[\d{1,6}\])*)")
_INDEX = re.compile(r"\[(\d+)\]")


class Sweep(Section):
    """The content of a sweep's file."""

    api_version: Literal["firmament.io/v1alpha1"] = API_VERSION
    """Version of the file's format."""
    kind: Literal["Sweep"] = "Sweep"
    """Kind of the document."""
    scenario: str
    """Path of the scenario, relative to this file; paths in the scenario are relative to this file as well."""
    grid: Annotated[dict[str, list[Any]], Field(min_length=1)]
    """Values by field of the scenario, such as ``cluster.pools[0].count: [18, 20]``."""
    minimise: Annotated[tuple[str, ...], Field(min_length=1)] = ("nodes", "waitP90", "evictions")
    """Figures that should be small; the listed best runs are those that no other run beats in all these figures."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One run of a sweep: ``settings`` by field, and the scenario with these settings."""

    number: int
    settings: Mapping[str, Any]
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """All runs of a sweep; paths in their scenarios are relative to ``folder``."""

    document: Sweep
    folder: Path
    runs: tuple[SweepRun, ...]


def load_sweep(path: Path) -> SweepPlan:
    """Read a sweep and check each of its scenarios. Raises ``ConfigurationError`` with one line per fault."""
    raw = read_document(path, KIND)
    try:
        document = Sweep.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {explain_error(each, Sweep)}" for each in error.errors()) from None
    if "apiVersion" not in raw or "kind" not in raw:
        raise ConfigurationError([f"{path}: must begin with apiVersion: {API_VERSION} and kind: {KIND}"])
    count = 1
    for name, values in document.grid.items():
        if not values:
            raise ConfigurationError([f"{path}: grid.{name}: has no values; give some, or leave it out"])
        count *= len(values)
    if count > MOST_RUNS:
        raise ConfigurationError([f"{path}: grid: makes {count:,} runs; {MOST_RUNS:,} at most"])
    base = path.parent / document.scenario
    scenario = read_document(base, SCENARIO)
    runs = []
    for number, chosen in enumerate(itertools.product(*document.grid.values())):
        settings = dict(zip(document.grid, chosen, strict=True))
        made = deepcopy(scenario)
        for name, value in settings.items():
            try:
                _set(made, name, value)
            except (KeyError, IndexError, TypeError, ValueError):
                raise ConfigurationError(
                    [
                        f"{path}: grid.{name}: {base.name} has no such place; name a field that it has, or could have"
                    ]
                ) from None
        runs.append(SweepRun(number, settings, check_scenario(made, f"{path}: run {number}: {base.name}")))
    return SweepPlan(document, base.parent, tuple(runs))


def _set(document: Any, name: str, value: Any) -> None:
    """Set the field ``name`` of a document, such as ``a.b[0].c``; create missing maps on the path to it.

    Raises ``ValueError`` if the document has no field of this name.
    """
    steps: list[str | int] = []
    for part in name.split("."):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(name)
        steps.append(found[1])
        steps += [int(each) for each in _INDEX.findall(found[2])]
    for step, following in itertools.pairwise(steps):
        if isinstance(step, str) and isinstance(following, str):
            document = document.setdefault(step, {})
        else:
            document = document[step]
    document[steps[-1]] = value

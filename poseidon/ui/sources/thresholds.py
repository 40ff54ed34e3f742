"""Reads the thresholds of measured use from the configuration of the cost model that uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from poseidon.ui.program_pages import get_configz_url, read_page

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration

_MODEL = "load_threshold"
_DEFAULTS: Mapping[str, float] = {"cpu": 65.0, "memory": 95.0}
"""Thresholds of the cost model if its arguments state none, in percent.

A test compares these thresholds with the model's ``DEFAULT_THRESHOLDS``. The thresholds are repeated here because the
dashboard may run without the cost models' package.
"""


def thresholds_in(models: object) -> Mapping[str, float]:
    """Return the thresholds (percent by resource) in the section ``costModels``, or none without that model."""
    for each in models if isinstance(models, list) else ():
        if isinstance(each, Mapping) and each.get("name") == _MODEL:
            arguments = each.get("args")
            given = arguments.get("usageThresholds") if isinstance(arguments, Mapping) else None
            stated = _percentages(given) if isinstance(given, Mapping) else {}
            return stated or _DEFAULTS
    return {}


async def thresholds_of(
    configuration: BridgeConfiguration | None, solver_url: str
) -> Mapping[str, float] | None:
    """Return the thresholds of a configuration, or else of the configuration that the solver serves."""
    if configuration is not None:
        return thresholds_in([each.model_dump() for each in configuration.all_cost_models])
    text = await read_page(get_configz_url(solver_url))
    try:
        document: Any = yaml.safe_load(text) if text else None
    except (yaml.YAMLError, RecursionError):
        return None
    return thresholds_in(document.get("costModels")) if isinstance(document, Mapping) else None


def _percentages(given: Mapping[Any, Any]) -> dict[str, float]:
    return {
        str(name): float(each)
        for name, each in given.items()
        if isinstance(each, int | float) and 0 < each <= 100
    }

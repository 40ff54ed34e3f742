"""What models need, as a solver that has them loaded says it."""

from __future__ import annotations

from cost_models.api.needs import Needs
from cost_models.registry import load_model
from firmament.core.rules.registry import DEFAULT, NodeRules
from poseidon.pods.visibility import Visibility, visible_to


def words_of(*models: str) -> frozenset[str]:
    """Return the words of models with their default arguments, and of the rules that every solver has."""
    return frozenset(
        Needs.merge([*(load_model(name, {}).needs for name in models), NodeRules(DEFAULT).needs]).words()
    )


def visible(*models: str, bandwidth: bool = False) -> Visibility:
    """Return what of pods and nodes is shown to models."""
    return visible_to(words_of(*models), bandwidth=bandwidth)

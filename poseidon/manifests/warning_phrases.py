"""Phrases that several warnings about an input share."""

from __future__ import annotations

from collections.abc import Iterable

RENDER_FIRST = "render them first, as helm template does"


def suggest_printing(resources: str, *, namespaced: bool = True) -> str:
    """Return what to do about missing objects, as ``add what `kubectl get …` prints``."""
    scope = "--all-namespaces " if namespaced else ""
    return f"add what `kubectl get {resources} {scope}-o yaml` prints"


def list_names(names: Iterable[str], most: int = 3) -> str:
    """Return a text with the first ``most`` names, and the number of the remaining names."""
    found = list(names)
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more} more" if more > 0 else "")

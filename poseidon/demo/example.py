"""Where the example application's manifests are."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_EXAMPLE = Path("examples", "01-online-boutique")


class ExampleMissingError(Exception):
    """The example was not found; the text says where it was looked for and what to do."""


def example_paths() -> tuple[str, ...]:
    """Return the manifests of the example: of the source checkout, else as installed with the package.

    Raises ``ExampleMissingError``.
    """
    checkout = Path(__file__).resolve().parents[2] / _EXAMPLE
    installed = Path(sysconfig.get_path("data"), "share", "poseidon", _EXAMPLE)
    for folder in (checkout, installed):
        found = [folder / name for name in ("nodes.yaml", "app.yaml")]
        if all(path.is_file() for path in found):
            return tuple(map(str, found))
    raise ExampleMissingError(
        f"the example's manifests are neither in {checkout} nor in {installed}; name manifests with --manifests"
    )

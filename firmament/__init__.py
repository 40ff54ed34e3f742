"""Firmament: the solver. Firmament knows machines, tasks and costs, and nothing of Kubernetes."""

from importlib import import_module
from pathlib import Path

__version__ = "0.2.0"


def _refuse_foreign(*names: str) -> None:
    """Raise ``ImportError`` if Python finds a package of another distribution, or a folder, under one of ``names``.

    The names of this distribution's packages are plain words, so other distributions may have packages of these names
    (decision 0038).
    """
    here = Path(__file__).resolve().parents[1]
    for name in names:
        found = Path(next(iter(import_module(name).__path__)))
        if found.resolve().parent != here:
            raise ImportError(
                f"the package {name!r} that Python finds first is not the one of poseidon-firmament: {found}; "
                "start Python in another folder, or install poseidon-firmament into an environment of its own",
                name=name,
            )


_refuse_foreign("protos", "cost_models")

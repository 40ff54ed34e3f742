"""Firmament: the solver. It knows machines, tasks and costs, and nothing of Kubernetes."""

from importlib import import_module
from pathlib import Path

__version__ = "0.2.0"


def _refuse_foreign(*names: str) -> None:
    """Raise ``ImportError`` if a package that came with this one is another's: a folder, or another distribution.

    The names of its packages are plain words, so other distributions may have packages of these names (decision 0038).
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

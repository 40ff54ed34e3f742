"""What to install when a package is not there: a plain installation plans, and talks to no real cluster."""

from __future__ import annotations

from types import MappingProxyType

DISTRIBUTION = "poseidon-firmament"
EXTRAS = MappingProxyType(
    {
        "kubernetes": "bridge",
        "cryptography": "bridge",
        "distributed": "dask",
        "joblib": "simulate",
        "matplotlib": "bench",
        "opentelemetry": "tracing",
        "pandas": "notebook",
        "polars": "simulate",
    }
)
"""The extra that brings a module which a plain installation lacks."""

INSTALL_BRIDGE = f"pip install '{DISTRIBUTION}[bridge]'"


def say_what_to_install(error: ModuleNotFoundError) -> str | None:
    """Return a line for people about a module that is not installed.

    None if it is no module of another package, nor one of this package that an image leaves out: then it is a fault of
    the program.
    """
    package, _, below = (error.name or "").partition(".")
    if (
        not package
        or package in ("poseidon", "protos")
        or (package in ("firmament", "cost_models") and below)
    ):
        return None
    extra = EXTRAS.get(package)
    wanted = f"'{DISTRIBUTION}[{extra}]'" if extra else DISTRIBUTION
    part = "the solver" if package in ("firmament", "cost_models") else f"the package {package}"
    return f"{part} is not installed here; pip install {wanted}"

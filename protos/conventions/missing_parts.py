"""Tells what to install if a package is missing: a plain installation can plan, but not talk to a real cluster."""

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
"""By module that a plain installation lacks: the extra that installs it."""

INSTALL_BRIDGE = f"pip install '{DISTRIBUTION}[bridge]'"


def say_what_to_install(error: ModuleNotFoundError) -> str | None:
    """Return a line for people about a module that is not installed.

    None if neither a module of another package is missing nor one of this package that an image leaves out: then the
    program itself has a fault.
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

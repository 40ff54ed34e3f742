"""The solver's program with one more rule: ``python -m tests.firmament.core.rules.with_admitted_namespaces serve``."""

from __future__ import annotations

from firmament.cli import main
from firmament.core.rules import registry
from tests.firmament.core.rules.admitted_namespaces import AdmittedNamespaces

if __name__ == "__main__":
    registry.DEFAULT = (*registry.DEFAULT, AdmittedNamespaces())
    main()

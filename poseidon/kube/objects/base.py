"""What all structs of Kubernetes objects share."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Number: TypeAlias = str | int | float
"""A quantity as written: API servers send strings, people write numbers too."""

Resources: TypeAlias = dict[str, Number]


class KubeStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of the structs here. They are trees, so nothing can leak through ``gc=False``."""

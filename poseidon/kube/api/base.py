"""What all structs of Kubernetes objects share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Number: TypeAlias = str | int | float
"""A quantity as written: API servers send strings, people write numbers too."""

Resources: TypeAlias = dict[str, Number]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
Integer: TypeAlias = Annotated[int, Meta(ge=SMALLEST, le=LARGEST)]
"""A whole number as the API server stores them. Others are refused where objects are decoded, not where they are
reckoned with: some would be too large to be written again."""


class KubeStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of the structs here. They are trees, so nothing can leak through ``gc=False``."""

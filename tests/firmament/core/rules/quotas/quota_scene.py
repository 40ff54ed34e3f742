"""Records of quotas and flavors, and schedulers with them."""

from __future__ import annotations

import json
from typing import Any

from firmament.core.events import RecordUpserted
from firmament.core.record_kinds import (
    FLAVOR_RECORD,
    QUOTA_RECORD,
)


def flavor(name: str, **labels: str) -> RecordUpserted:
    """A flavor of the machines with some labels."""
    return RecordUpserted(FLAVOR_RECORD, name, json.dumps({"labels": labels}).encode())


def quota(name: str, nominal: dict[str, dict[str, int]] | None = None, **stated: Any) -> RecordUpserted:
    """A quota of one group: all flavors and resources of ``nominal``, in that order, unless told otherwise."""
    amounts = nominal or {}
    resources = list(dict.fromkeys(name for each in amounts.values() for name in each))
    groups = [{"resources": resources, "flavors": list(amounts)}] if amounts else []
    return RecordUpserted(
        QUOTA_RECORD, name, json.dumps({"flavors": groups, "nominal": amounts, **stated}).encode()
    )

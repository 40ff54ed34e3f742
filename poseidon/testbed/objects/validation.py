"""Field-by-field checks of kinds whose own logic lives elsewhere: leases and disruption budgets.

Rules and words follow ``pkg/apis/coordination/validation`` and ``pkg/apis/policy/validation`` of Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.errors import Cause

Object = dict[str, Any]

_PERCENT = re.compile(r"\d+%")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def check(collection: str, kind: str, group: str, obj: Object) -> None:
    """Check an object of a kind that has rules here. Raises ``ApiError`` 422 with every field that breaks one."""
    rules = _RULES.get(collection)
    causes = rules(obj.get("spec") or {}) if rules is not None else []
    if causes:
        raise errors.invalid(kind, group, obj["metadata"].get("name", ""), causes)


def _lease(spec: Object) -> list[Cause]:
    causes = []
    for name, least, why in (
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            causes.append(errors.invalid_value(f"spec.{name}", str(value), why))
    for name in ("acquireTime", "renewTime"):
        if spec.get(name) is not None and not _is_time(spec[name]):
            why = "must be a time such as 2026-01-01T12:00:00.000000Z"
            causes.append(errors.invalid_value(f"spec.{name}", str(spec[name]), why))
    if spec.get("holderIdentity") == "":
        causes.append(errors.invalid_value("spec.holderIdentity", "", "must not be empty"))
    return causes


def _budget(spec: Object) -> list[Cause]:
    causes = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        causes.append(errors.invalid_value("spec", "", why))
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, str):
            if not _PERCENT.fullmatch(value):
                why = "a valid percent string must be a numeric string followed by an ending '%'"
                causes.append(errors.invalid_value(f"spec.{name}", value, why))
            elif int(value[:-1]) > 100:
                causes.append(errors.invalid_value(f"spec.{name}", value, "must not be greater than 100%"))
        elif value is not None and (not isinstance(value, int) or value < 0):
            causes.append(
                errors.invalid_value(f"spec.{name}", str(value), "must be a whole number from 0 on")
            )
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        causes.append(errors.unsupported_value("spec.unhealthyPodEvictionPolicy", policy, *_POLICIES))
    return causes


def _is_time(text: Any) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        return False


_RULES: dict[str, Callable[[Object], list[Cause]]] = {
    "leases.coordination.k8s.io": _lease,
    "poddisruptionbudgets.policy": _budget,
}

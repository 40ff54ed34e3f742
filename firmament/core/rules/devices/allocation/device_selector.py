"""Evaluates the expression of a device selector, within limits for each expression and for all expressions together."""

from __future__ import annotations

from typing import Any

from firmament.core.rules.devices.cel.evaluation import Expression
from firmament.core.rules.devices.cel.limits import (
    MOST_WORK,
    SHARED_LENGTH,
    SHARED_WORK,
    SHARED_WORK_PER_ROUND,
    WORK_IN_ALL,
    WORK_PER_CHARACTER,
)
from firmament.core.rules.devices.cel.tree import ExpressionError
from firmament.core.rules.devices.cel.values import DomainMap, EvaluationError, Quantity, parse_version
from firmament.core.rules.devices.objects.inventory import PublishedDevice, qualify
from firmament.core.rules.devices.visible_devices import Relevant, SeenDevice

FIELDS = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
"""The fields of a device that expressions can read."""


class SharedWork:
    """The steps of evaluation that all costly expressions of a cluster together may still take.

    Somebody who writes many costly expressions thus delays a round by at most `SHARED_WORK` steps (about a second),
    and makes only other costly expressions fail. So somebody who writes many costly expressions delays a round by
    `SHARED_WORK` steps at most (about a second), and makes only other costly expressions fail.
    """

    def __init__(self) -> None:
        self.left = SHARED_WORK

    def refill(self) -> None:
        """Allow `SHARED_WORK_PER_ROUND` more steps, but no more than `SHARED_WORK` in all."""
        self.left = min(SHARED_WORK, self.left + SHARED_WORK_PER_ROUND)

    def spend(self, work: int) -> None:
        """Count the steps that an expression has taken, and subtract them from the steps that remain."""
        self.left = max(0, self.left - work)


class DeviceSelector:
    """A compiled CEL expression of a selector, or the error in the expression, with the answers found so far."""

    def __init__(self, text: str, shared: SharedWork) -> None:
        self.fault = ""
        self.relevant: Relevant = frozenset()
        self._answers: dict[int, bool | str] = {}
        self._work = 0
        self._shared = shared
        try:
            self._expression = self._compile(text)
            self.relevant = self._expression.attributes
        except ExpressionError as error:
            self.fault = f"CEL compile error: {error}"

    def _compile(self, text: str) -> Expression:
        beyond = max(0, len(text) - SHARED_LENGTH)
        if beyond and not self._shared.left:
            raise ExpressionError("it is long, and there are too many costly expressions")
        self._shared.spend(WORK_PER_CHARACTER * beyond)
        return Expression(text, FIELDS)

    def forget(self) -> None:
        """Forget the answers, because devices have other keys from now on."""
        self._answers.clear()

    def matches(self, seen: SeenDevice, free: int) -> tuple[bool | str, int]:
        """Return the answer of ``ask`` and the number of steps it took; 0 steps if the answer was cached."""
        found = self._answers.get(seen.key)
        if found is not None:
            return found, 0
        answer, work = self.ask(seen, free)
        self._answers[seen.key] = answer
        return answer, work

    def ask(self, seen: SeenDevice, free: int) -> tuple[bool | str, int]:
        """Return whether a device matches, or why there is no answer, and the steps that it took.

        Each step beyond ``free`` is deducted from the work that all costly expressions share.
        """
        if self.fault:
            return self.fault, 0
        most = min(MOST_WORK, free + self._shared.left)
        try:
            value, work = self._expression.evaluate(show_device(seen.device, seen.driver), most)
        except EvaluationError as error:
            self._spend(error.work - free)
            return self.fault or f"CEL runtime error: {error}", error.work
        self._spend(work - free)
        if isinstance(value, bool):
            return value, work
        return "CEL runtime error: the result is neither true nor false", work

    def _spend(self, beyond: int) -> None:
        if beyond <= 0:
            return
        self._shared.spend(beyond)
        self._work += beyond
        if self._work > WORK_IN_ALL:
            self.fault = "CEL runtime error: the expression takes too much work"


def show_device(device: PublishedDevice, driver: str) -> dict[str, Any]:
    """Return a device in the form that expressions read."""
    attributes, capacity = DomainMap(), DomainMap()
    for name, value in device.attributes.items():
        domain, _, own = name.partition("/")
        attributes.setdefault(domain, {})[own] = _show(value)
    for name, each in device.capacity.items():
        domain, _, own = qualify(name, driver).partition("/")
        capacity.setdefault(domain, {})[own] = Quantity(each.amount)
    return {
        "driver": driver,
        "allowMultipleAllocations": device.shared,
        "attributes": attributes,
        "capacity": capacity,
    }


def _show(value: Any) -> Any:
    if isinstance(value, list):
        return [_show(each) for each in value]
    if value is None:
        raise EvaluationError("an attribute has no value of a known type")
    if isinstance(value, tuple):
        return parse_version(value[1])
    return value

"""Defines checks that all decoders share: each returns its value, or raises an error with object and field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from firmament.core.events import InvalidEventError
from firmament.core.model import MAX_QUANTITY, OPERATORS, NodeSelectorTerm, Requirement
from firmament.core.selectors.label_columns import parse_integer
from protos.firmament.v1 import scheduler_pb2 as pb

T = TypeVar("T")

Decoder: TypeAlias = Callable[[str, str, Any], T]
"""A function that returns the value of a message or of a part of one. The function's arguments are the object and the
field, for errors, and the message."""

LONGEST_NAME = 1024
"""The most characters of a name: Kubernetes' names and uids have at most 253, and a name in the protocol may consist
of two."""

LATEST = 253_402_300_799.0
"""The latest time that can be formatted, in seconds since the epoch: the end of the year 9999."""

_LONGEST_FAULT = 500


def refuse(subject: str, field: str, problem: str) -> InvalidEventError:
    """Return the error ``SUBJECT: FIELD: PROBLEM``, which the caller raises.

    The text is printable and short enough for one line of a log, and for the header that ends a stream.
    """
    text = f"{subject[:_LONGEST_FAULT]}: {field[:_LONGEST_FAULT]}: {problem}"[: 3 * _LONGEST_FAULT]
    if not text.isprintable():
        text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return InvalidEventError(text)


def check_required(subject: str, field: str, value: str) -> str:
    """Return a required name; refuse an empty one, and one longer than ``LONGEST_NAME``."""
    if not value:
        raise refuse(subject, field, "is empty; it is required")
    if len(value) > LONGEST_NAME:
        raise refuse(subject, field, f"has {len(value)} characters; send at most {LONGEST_NAME}")
    return value


def decode_quantities(subject: str, field: str, items: Iterable[pb.Quantity | pb.Usage]) -> dict[str, Any]:
    """Return amounts by resource, integers or measured values: each 0 to 2^53, and each resource at most once."""
    amounts: dict[str, Any] = {}
    for item in items:
        resource, amount = item.resource, item.amount
        if not resource:
            raise refuse(subject, f"{field}.resource", "is empty; name the resource")
        if resource in amounts:
            raise refuse(subject, f"{field}[{resource}]", "is given twice; send one amount per resource")
        if not 0 <= amount <= MAX_QUANTITY:  # The condition is also false for NaN, so NaN is refused.
            raise _no_amount(subject, f"{field}[{resource}]", amount, f"send 0 to {MAX_QUANTITY}")
        amounts[resource] = amount
    return amounts


def check_sorted_quantities(
    subject: str, field: str, items: Iterable[pb.Quantity]
) -> tuple[tuple[str, int], ...]:
    """Return amounts as pairs sorted by resource, so that equal amounts give equal values.

    The amounts are checked as by ``decode_quantities``.
    """
    return tuple(sorted(decode_quantities(subject, field, items).items()))


def check_amount(subject: str, field: str, amount: int, remedy: str = f"send 0 to {MAX_QUANTITY}") -> int:
    """Return an amount, such as bytes; refuse one below 0 or above 2^53."""
    if not 0 <= amount <= MAX_QUANTITY:
        raise _no_amount(subject, field, amount, remedy)
    return amount


def _no_amount(subject: str, field: str, amount: float, remedy: str) -> InvalidEventError:
    fault = "is negative" if amount < 0 else "is absurdly large"
    return refuse(
        subject, field, f"{amount} {'is not an amount' if isinstance(amount, float) else fault}; {remedy}"
    )


def check_within(subject: str, field: str, value: int, least: int, most: int) -> int:
    """Return ``value``; refuse a value that is below ``least`` or above ``most``."""
    if not least <= value <= most:
        raise refuse(subject, field, f"{value} is out of range; use {least} to {most}")
    return value


def check_choice(
    subject: str, field: str, value: str, allowed: Collection[str], what: str, more: str = ""
) -> str:
    """Return ``value``; refuse a value that is not ``allowed``.

    The message says that the value is not ``what``, lists the ``allowed`` values, and ends with ``more``.
    """
    if value not in allowed:
        raise refuse(
            subject, field, f"{value!r} is not {what}; use one of {', '.join(sorted(allowed))}{more}"
        )
    return value


def check_time(subject: str, field: str, value: float) -> float:
    """Return a time in seconds since the epoch, or a duration: not negative, not after the year 9999."""
    if not 0 <= value <= LATEST:  # The condition is also false for NaN, so NaN is refused.
        raise refuse(subject, field, f"{value} is not a time; send seconds since the epoch")
    return value


def task_uids(subject: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return task uids: at least one, none empty or too long.

    The core refuses repeated uids, because it sees all events.
    """
    # Copying the whole list of a message is faster than reading its entries one by one.
    uids = tuple(values[:])
    if not uids:
        raise refuse(subject, "uids", "is empty; name at least one task")
    if "" in uids or max(map(len, uids)) > LONGEST_NAME:
        wrong = next(index for index, uid in enumerate(uids) if not 1 <= len(uid) <= LONGEST_NAME)
        check_required(subject, f"uids[{wrong}]", uids[wrong])
    return uids


def check_length(subject: str, field: str, values: Sequence[object], count: int) -> None:
    """Check that a list that is parallel to ``uids`` is empty or has ``count`` entries."""
    if len(values) not in (0, count):
        raise refuse(subject, field, f"has {len(values)} entries for {count} uids; send one each, or none")


def decode_each(decode: Decoder[T]) -> Decoder[tuple[T, ...]]:
    """Return a decoder of repeated fields that decodes each message with ``decode``."""

    def decode_all(subject: str, field: str, messages: Iterable[Any]) -> tuple[T, ...]:
        return tuple(decode(subject, f"{field}[{index}]", message) for index, message in enumerate(messages))

    return decode_all


def decode_distinct(decode: Decoder[tuple[Any, ...]], kind: Callable[..., T]) -> Decoder[tuple[T, ...]]:
    """Return a decoder of repeated fields that sorts their distinct values.

    ``decode`` returns the arguments of ``kind``.
    """
    every = decode_each(decode)
    return lambda subject, field, messages: tuple(
        kind(*arguments) for arguments in sorted(set(every(subject, field, messages)))
    )


# --- Decodes requirements on labels and fields, and the terms made of them.


SET_OPERATORS: frozenset[str] = OPERATORS - {"Gt", "Lt"}
"""Operators of selectors of tasks or namespaces."""


def decode_node_term(subject: str, field: str, message: pb.NodeSelectorTerm) -> NodeSelectorTerm:
    """Check and decode the message of a node selector term. Raise ``InvalidEventError`` if the term is invalid."""
    return NodeSelectorTerm(
        labels=decode_requirements(subject, f"{field}.labels", message.labels),
        fields=decode_requirements(subject, f"{field}.fields", message.fields),
    )


def decode_requirements(
    subject: str, field: str, items: Iterable[pb.Requirement], operators: frozenset[str] = OPERATORS
) -> tuple[Requirement, ...]:
    """Check and decode requirements of a selector, as core/v1 checks them.

    Raise ``InvalidEventError`` if a requirement is invalid.
    """
    return tuple(_requirement(subject, f"{field}[{i}]", item, operators) for i, item in enumerate(items))


def _requirement(subject: str, field: str, message: pb.Requirement, operators: frozenset[str]) -> Requirement:
    """Return one requirement; refuse an unknown operator or a wrong number of values."""
    operator, values = message.operator, tuple(message.values)
    if not message.key:
        raise refuse(subject, f"{field}.key", "is empty; it is required")
    check_choice(subject, f"{field}.operator", operator, operators, "an operator")
    if operator in {"In", "NotIn"} and not values:
        raise refuse(subject, f"{field}.values", f"is empty; {operator} needs at least one value")
    if operator in {"Exists", "DoesNotExist"} and values:
        raise refuse(subject, f"{field}.values", f"has {len(values)} entries; {operator} takes none")
    if operator in {"Gt", "Lt"} and not (len(values) == 1 and parse_integer(values[0]) is not None):
        raise refuse(subject, f"{field}.values", f"is {list(values)}; {operator} needs exactly one integer")
    return Requirement(message.key, operator, values)

"""Finds faults in the declarations of a model, when it is loaded and in the conformance checks."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import cache
from itertools import chain

from cost_models.interface import CostModel, Needs, Promises, Range

METHODS: Mapping[str, tuple[str, ...]] = {
    "expires": ("lasts_until",),
    "pairs": ("pair_terms", "pair_verdict"),
    "groups": ("topology_terms",),
    "constraints": ("constraint", "restore_constraint"),
}
"""The methods of a model besides ``assess`` and ``crowding``, by the promise because of which each is called."""

FORMER: Mapping[str, str] = {
    "label_keys": "needs = Needs(labels=...)",
    "record_kinds": "needs = Needs(records=...)",
    "pair_keys": "needs = Needs(kind_labels=...) and promises = Promises(pairs=True)",
    "constraint_keys": "needs = Needs(kind_labels=...) and promises = Promises(constraints=True)",
    "plans_groups": "promises = Promises(groups=True)",
}
"""Attributes that older models used in place of ``needs`` and ``promises``, and what replaces them."""

NEAR, VERY_NEAR = 0.83, 0.87
"""How alike a name must be to a declaration to count as a misspelling: if its value fits too, and otherwise."""

_FIELDS = {each.name: (each.default, declared) for declared in (Needs, Promises) for each in fields(declared)}
_KNOWN = frozenset({"assess", "crowding", "needs", "promises", *chain.from_iterable(METHODS.values())})


def declaration_faults(model: CostModel) -> Iterator[str]:
    """Yield what is wrong with a model's declarations and methods; one line each, without the model's name.

    Attributes that look like declarations but are not read are wrong, too.
    """
    name, kind, span = (getattr(model, each, None) for each in ("name", "kind", "range"))
    if not isinstance(name, str) or not name:
        yield "name must be a non-empty string"
    if kind not in {"policy", "overlay"}:
        yield f"kind is {kind!r}; it must be 'policy' or 'overlay'"
    if not isinstance(span, Range):
        yield "range must be a Range"
    elif not (math.isfinite(span.best) and math.isfinite(span.worst) and span.best != span.worst):
        yield f"range goes from {span.best} to {span.worst}; both must be finite, and different"
    yield from _unread(model)
    if not isinstance(getattr(model, "needs", None), Needs):
        yield "needs must be a Needs; inherit from BaseModel, or write needs = Needs()"
    elif not isinstance(getattr(model, "promises", None), Promises):
        yield "promises must be a Promises; inherit from BaseModel, or write promises = Promises()"
    else:
        yield from _contradictions(model.needs, model.promises)
        yield from _methods(model)


def _unread(model: CostModel) -> Iterator[str]:
    """Yield attributes that look like declarations but are never read: former names and misspellings."""
    for name in dir(model):
        if name.startswith("_") or name in _KNOWN:
            continue
        former = name in FORMER or name.startswith("uses_")
        field, known = (
            _closest(name.removeprefix("uses_"), tuple(_FIELDS), NEAR),
            _closest(name, _KNOWN, VERY_NEAR),
        )
        value = getattr(model, name, None) if (field or known) and not former else None
        if former or (field and _reads_like(value, field)):
            remedy = FORMER.get(name) or _format_field(field)
        elif known and (callable(value) or isinstance(value, (Needs, Promises))):
            remedy = known
        else:
            continue
        yield f"{name} is an attribute that nothing looks at; write {remedy}{'' if former else ', or rename it'}"


@cache
def _closest(name: str, known: Collection[str], least: float) -> str:
    """Return the most similar of the names in ``known``; "" if none is similar to ``name``."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=least)), "")


def _reads_like(value: object, field: str) -> bool:
    """Return whether a value has a form that the field of a declaration could have."""
    if _FIELDS[field][0] is False:
        return isinstance(value, bool)
    return isinstance(value, (tuple, list, set, frozenset)) and all(isinstance(text, str) for text in value)


def _format_field(field: str) -> str:
    """Return how a field must be declared, for messages; "" if it may be anything."""
    default, declared = _FIELDS.get(field, (None, Needs))
    value = "..." if default is None else f"{field}={'True' if default is False else '...'}"
    return f"{declared.__name__.lower()} = {declared.__name__}({value})"


def _contradictions(needs: Needs, promises: Promises) -> Iterator[str]:
    """Yield the contradictions between needs and promises."""
    for field, wanted in (("load", needs.load), ("arrivals", needs.arrivals)):
        if promises.per_machine and wanted:
            yield f"promises.per_machine cannot be promised by a model with needs.{field}; remove one of them"
    if promises.expires and not promises.per_machine:
        yield "promises.expires is about answers by machine; add per_machine=True, or remove it"
    for promise, given in (("pairs", promises.pairs), ("constraints", promises.constraints)):
        if given and not needs.kind_labels:
            yield f"promises.{promise} is True, but needs.kind_labels is empty; name the labels that make a kind"
    if needs.kind_labels and not (promises.pairs or promises.constraints):
        yield "needs.kind_labels is for promises.pairs and promises.constraints; add one, or use needs.labels"
    for kind in needs.arrivals:
        if kind not in needs.records:
            yield f"needs.arrivals names {kind!r}, but needs.records does not; add it there"


def _methods(model: CostModel) -> Iterator[str]:
    """Yield the methods that a promise requires and that are missing, and those that are never called without a
    promise."""
    expected = {name: promise for promise, names in METHODS.items() for name in names}
    for name in ("assess", "crowding", *expected):
        promise, there = expected.get(name, ""), callable(getattr(model, name, None))
        promised = not promise or getattr(model.promises, promise)
        if promised and not there:
            why = f", which promises.{promise} says that there is; write it, or promise less"
            yield f"the method {name} is missing" + (why if promise else "; write it")
        elif there and not promised:
            yield f"the method {name} is never called; write promises = Promises({promise}=True), or rename it"

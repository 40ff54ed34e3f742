"""Dataclasses as columns of arrays, and back: what saved rounds and saved ledgers consist of.

The columns follow from the types of fields. Values of one type are written together, so that thousands of rules are a
few long arrays: those of a field are the column ``NAME.FIELD``. Of the values that are called NAME,

* numbers, truth values and texts are one array, ``NAME``;
* sequences have the lengths ``NAME.length``, and their entries, one after another, are called NAME in turn, or
  ``NAME.entry`` if they are sequences as well;
* mappings likewise have ``NAME.length``, ``NAME.key`` and ``NAME.value``; tuples of a fixed length ``NAME.0``, ...;
* of those that may be None, ``NAME.given`` says which are not, and these are called NAME;
* a single array is there as it is; of several, ``NAME`` has the different ones, flattened, one after another,
  ``NAME.size`` their sizes, and ``NAME.which`` the one that each is. Those of no stated type of elements are apart:
  ``NAME.0``, ...

Where there are no values there are no columns either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Int64, MalformedArraysError

T = TypeVar("T")

_SCALARS: Mapping[Any, Any] = {int: np.int64, float: np.float64, bool: np.bool_, str: np.str_}
_FORMS: Mapping[Any, str] = {
    np.ndarray: "array",
    Union: "optional",
    UnionType: "optional",
    Mapping: "mapping",
    Sequence: "sequence",
}


class Layout(NamedTuple):
    """What holds of a column. ``size``: a letter for each dimension of an array, equal letters for equal lengths, ``*``
    for any; no letters: the column is no array's, and its length follows. ``least``: the least number in it, where
    floating point is finite, too; ``end``: what all are below: a number, or the length of a letter or sequence.
    """

    size: str = ""
    least: float | None = None
    end: int | str | None = None


class StandIn(NamedTuple):
    """What is written in place of values of a type: values of ``kind``, made by ``saved``, read by ``restored``.

    ``restored`` gets a value's name as well, and the lengths by letter that are known so far.
    """

    kind: Any
    saved: Callable[[Any], Any]
    restored: Callable[[str, Any, Mapping[str, int]], Any]


@dataclass(frozen=True)
class ArrayCodec(Generic[T]):
    """Writes and reads values of the dataclass ``kind``; ``name``: what they are called. ``layouts``: by column;
    ``stand_ins``: by type; ``left_out``: columns of fields that are not written, and get their defaults.
    """

    kind: type[T]
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    name: str = ""
    stand_ins: Mapping[Any, StandIn] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()

    def encode(self, value: T) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        columns: dict[str, NDArray[Any]] = {}
        self._put(columns, self.name, self.kind, [value])
        return columns

    def decode(self, columns: Arrays, **sizes: int) -> T:
        """What ``encode`` was given; ``sizes``: by letter, those that are known.

        Raises ``KeyError`` for a column that is missing, ``MalformedArraysError`` for one that makes no sense.
        """
        reader = _Reader(self, columns, sizes)
        (value,) = reader.get(self.name, self.kind, 1)
        for fault in reader.range_faults():
            raise MalformedArraysError(fault)
        return value

    def form(self, kind: Any) -> str:
        """How values of a type are written."""
        origin, of = get_origin(kind), get_args(kind)
        if kind in self.stand_ins:
            return "stand-in"
        if kind in _SCALARS or origin is Literal:
            return "scalar"
        if origin is tuple:
            return "sequence" if of[-1] is Ellipsis else "tuple"
        forms = {
            np.ndarray: "array",
            Union: "optional",
            UnionType: "optional",
            Mapping: "mapping",
            Sequence: "sequence",
        }
        return forms.get(origin, "dataclass")

    def below(self, name: str, kind: Any) -> str:
        """What entries of a type are called in sequences that are called ``name``."""
        return f"{name}.entry" if self.form(kind) in ("sequence", "mapping") else name

    def parts(self, name: str, kind: Any) -> list[tuple[str, str, Any]]:
        """Of each field of a dataclass that is written its name, the name of its column, and its type."""
        named = ((each, f"{name}.{each}" if name else each, of) for each, of in _hints(kind))
        return [part for part in named if part[1] not in self.left_out]

    def _put(self, columns: dict[str, NDArray[Any]], name: str, kind: Any, values: Sequence[Any]) -> None:
        """Write values of a type, if there are any."""
        of, form = get_args(kind), self.form(kind)
        if not values:
            return
        if form in ("sequence", "mapping"):
            columns[f"{name}.length"] = np.array([len(each) for each in values], dtype=np.int64)
        match form:
            case "stand-in":
                stand_in = self.stand_ins[kind]
                self._put(columns, name, stand_in.kind, [stand_in.saved(each) for each in values])
            case "array":
                columns |= _flattened(name, _elements(kind), values)
            case "optional":
                columns[f"{name}.given"] = np.array([each is not None for each in values], dtype=np.bool_)
                self._put(columns, name, _not_none(of), [each for each in values if each is not None])
            case "mapping":
                self._put(columns, f"{name}.key", of[0], [key for each in values for key in each])
                self._put(
                    columns, f"{name}.value", of[1], [value for each in values for value in each.values()]
                )
            case "tuple":
                for place, part in enumerate(of):
                    self._put(columns, f"{name}.{place}", part, [each[place] for each in values])
            case "sequence":
                below = self.below(name, of[0])
                self._put(columns, below, of[0], [entry for each in values for entry in each])
            case "scalar":
                columns[name] = np.array(values, dtype=_SCALARS.get(kind, np.str_))
            case _:
                for own, below, part in self.parts(name, kind):
                    self._put(columns, below, part, [getattr(each, own) for each in values])


@dataclass
class _Reader:
    """Reads columns; raises as ``ArrayCodec.decode``."""

    codec: ArrayCodec[Any]
    columns: Arrays
    sizes: dict[str, int]

    def get(self, name: str, kind: Any, count: int) -> list[Any]:
        """``count`` values of a type."""
        of, form = get_args(kind), self.codec.form(kind)
        if not count:
            return []
        lengths = self._lengths(name, count) if form in ("sequence", "mapping") else []
        found: Any
        match form:
            case "stand-in":
                stand_in = self.codec.stand_ins[kind]
                saved = enumerate(self.get(name, stand_in.kind, count))
                found = (stand_in.restored(f"{name}[{number}]", each, self.sizes) for number, each in saved)
            case "array":
                found = self._arrays(name, _elements(kind), count)
            case "optional":
                given = self._flat(f"{name}.given", np.bool_, count).tolist()
                there = iter(self.get(name, _not_none(of), sum(given)))
                found = (next(there) if each else None for each in given)
            case "mapping":
                keys, values = (
                    self.get(f"{name}.{part}", each, sum(lengths))
                    for part, each in zip(("key", "value"), of, strict=True)
                )
                found = map(dict, _divided(list(zip(keys, values, strict=True)), lengths))
            case "tuple":
                parts = (self.get(f"{name}.{place}", part, count) for place, part in enumerate(of))
                found = zip(*parts, strict=True)
            case "sequence":
                entries = self.get(self.codec.below(name, of[0]), of[0], sum(lengths))
                found = map(tuple, _divided(entries, lengths))
            case "scalar":
                found = self._flat(name, _SCALARS.get(kind, np.str_), count).tolist()
                for strange in set(found).difference(of or found):
                    raise MalformedArraysError(f"{name} is {strange}, not one of {', '.join(of)}")
            case _:
                parted = {
                    own: self.get(below, part, count) for own, below, part in self.codec.parts(name, kind)
                }
                found = (
                    kind(**dict(zip(parted, each, strict=True)))
                    for each in zip(*parted.values(), strict=True)
                )
        return list(found)

    def range_faults(self) -> Iterator[str]:
        """Yield which columns hold numbers that are not as their layout has it."""
        for name, (_, least, end) in self.codec.layouts.items():
            values = self.columns.get(name)
            if values is None or least is None:
                continue
            if values.dtype.kind == "f":
                if not (np.isfinite(values) & (values >= least)).all():
                    yield f"{name} holds numbers that are {'negative or ' if least == 0 else ''}not finite"
            elif (values < least).any() or (end is not None and (values >= self._end(end)).any()):
                yield f"{name} holds numbers out of range"

    def _end(self, end: int | str) -> int:
        if isinstance(end, int):
            return end
        return self.sizes[end] if end in self.sizes else int(self.columns[f"{end}.length"].sum())

    def _arrays(self, name: str, elements: Any, count: int) -> list[NDArray[Any]]:
        if elements is None:
            return [self._checked(f"{name}.{number}", None, name) for number in range(count)]
        if count == 1:
            return [self._checked(name, elements, name)]
        which, sizes = self._flat(f"{name}.which", np.int64, count), self._checked(f"{name}.size", np.int64)
        if sizes.ndim != 2 or (sizes < 0).any() or ((which < 0) | (which >= len(sizes))).any():
            raise MalformedArraysError(f"{name}.size or {name}.which makes no sense")
        shapes = [tuple(each) for each in sizes.tolist()]
        for shape in dict.fromkeys(shapes):
            self._require_size(name, shape, name)
        lengths = [math.prod(each) for each in shapes]
        flat = self._flat(name, elements, sum(lengths))
        parts = zip(_divided(flat, lengths), shapes, strict=True)
        distinct = [part.reshape(shape) for part, shape in parts]
        return [distinct[each] for each in which.tolist()]

    def _lengths(self, name: str, count: int) -> list[int]:
        lengths = self._flat(f"{name}.length", np.int64, count)
        if (lengths < 0).any():
            raise MalformedArraysError(f"{name}.length holds numbers out of range")
        return lengths.tolist()

    def _flat(self, name: str, elements: Any, count: int) -> NDArray[Any]:
        """A column with one dimension, of ``count`` numbers, truth values or texts."""
        found = self._checked(name, elements)
        if found.shape != (count,):
            raise MalformedArraysError(f"{name} has the size {found.shape}, not {(count,)}")
        return found

    def _checked(self, name: str, elements: Any, layout: str = "") -> NDArray[Any]:
        """A column of a type of elements (None: any numbers), and of the size that a layout says."""
        found = self.columns[name]
        if elements is None:
            right, wanted = found.dtype.kind in "biufU", "numbers or texts"
        else:
            right, wanted = _is_of(found, elements), np.dtype(elements).name
        if not right:
            raise MalformedArraysError(f"{name} is {found.dtype} of the size {found.shape}, not {wanted}")
        if layout:
            self._require_size(name, found.shape, layout)
        return found

    def _require_size(self, name: str, found: tuple[int, ...], layout: str) -> None:
        letters = self.codec.layouts.get(layout, Layout()).size
        if not letters:
            return
        if len(found) != len(letters):
            raise MalformedArraysError(f"{name} has the size {found}, not {len(letters)} dimensions")
        expected = tuple(
            length if letter == "*" else self.sizes.setdefault(letter, length)
            for letter, length in zip(letters, found, strict=True)
        )
        if found != expected:
            raise MalformedArraysError(f"{name} has the size {found}, not {expected}")


def _flattened(name: str, elements: Any, arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The columns of some arrays of one type of elements, None: of any."""
    if elements is None:
        return {f"{name}.{number}": np.asarray(each) for number, each in enumerate(arrays)}
    if len(arrays) == 1:
        return {name: np.asarray(arrays[0], dtype=elements)}
    distinct: dict[tuple[tuple[int, ...], bytes], int] = {}
    by_identity: dict[int, int] = {}
    for each in arrays:
        if id(each) not in by_identity:
            key = each.shape, np.asarray(each, dtype=elements).tobytes()
            by_identity[id(each)] = distinct.setdefault(key, len(distinct))
    flat = np.frombuffer(b"".join(content for _, content in distinct), dtype=elements)
    which: Int64 = np.array([by_identity[id(each)] for each in arrays], dtype=np.int64)
    sizes = np.array([shape for shape, _ in distinct], dtype=np.int64)
    return {name: flat, f"{name}.size": sizes, f"{name}.which": which}


def _divided(entries: Any, lengths: Sequence[int]) -> Iterator[Any]:
    """Consecutive parts of so many entries each."""
    end = 0
    for length in lengths:
        yield entries[end : end + length]
        end += length


def _is_of(array: NDArray[Any], elements: Any) -> bool:
    return array.dtype.kind == "U" if elements is np.str_ else bool(array.dtype == elements)


def _elements(kind: Any) -> Any:
    """The type of an array type's elements, None for any."""
    (elements,) = get_args(get_args(kind)[1])
    return None if elements is Any else elements


def _not_none(kinds: Sequence[Any]) -> Any:
    (kind,) = (each for each in kinds if each is not NoneType)
    return kind


@cache
def _hints(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    return [(each.name, hints[each.name]) for each in fields(kind)]

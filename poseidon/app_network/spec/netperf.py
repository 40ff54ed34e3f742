"""Latencies between nodes as a ConfigMap holds them: the names of its keys, and what their values say.

Two forms of keys are in use, upstream's reader's and that of the netperf script which it is meant to read:

    netperf.p90.latency.milliseconds.origin.<node>.destination.<node>
    netperf_p90_latency_microseconds.origin.<node>.destination.<node>

Either form is read in either unit. Microseconds become milliseconds by rounding up, so that no way is free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from poseidon.kube.parsing.defects import Defect

PERCENTILES = ("p50", "p90", "p99")
DEFAULT_PERCENTILE = "p90"

NodePair: TypeAlias = tuple[str, str]

_KEY = re.compile(
    r"netperf[._](?P<percentile>p\d+)[._]latency[._](?P<unit>milliseconds|microseconds)"
    r"\.origin\.(?P<origin>.+?)\.destination\.(?P<destination>.+)",
    re.ASCII,
)
_VALUE = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_PER_MILLISECOND = {"milliseconds": 1, "microseconds": 1000}
_FORMS = {
    "milliseconds": "netperf.{percentile}.latency.milliseconds.origin.{origin}.destination.{destination}",
    "microseconds": "netperf_{percentile}_latency_microseconds.origin.{origin}.destination.{destination}",
}


def read_measurements(
    data: Mapping[str, str], percentile: str = DEFAULT_PERCENTILE
) -> tuple[dict[NodePair, int], tuple[Defect, ...]]:
    """Return milliseconds by (origin, destination), whole and rounded up, and what is wrong with values.

    Keys of other forms and of other percentiles are not looked at. Where a pair is given in both forms, milliseconds
    count.
    """
    found: dict[NodePair, int] = {}
    whole: set[NodePair] = set()
    defects = []
    for key in sorted(data):
        match = _KEY.fullmatch(key)
        if match is None or match["percentile"] != percentile:
            continue
        value = data[key].strip()
        if not _VALUE.fullmatch(value):
            defects.append(Defect(f"data[{key}]", f"{data[key]!r} is not a number of {match['unit']}"))
            continue
        pair = (match["origin"], match["destination"])
        if pair in whole or pair[0] == pair[1]:
            continue
        if match["unit"] == "milliseconds":
            whole.add(pair)
        found[pair] = rounded_up(Fraction(value) / _PER_MILLISECOND[match["unit"]])
    return found, tuple(defects)


def measurement_keys(percentile: str, pair: NodePair) -> Mapping[str, str]:
    """Return the key of a pair by the unit of its value."""
    origin, destination = pair
    return {
        unit: form.format(percentile=percentile, origin=origin, destination=destination)
        for unit, form in _FORMS.items()
    }


def is_measurement(key: str) -> bool:
    """Whether a key of a ConfigMap is of either form."""
    return _KEY.fullmatch(key) is not None


def mean_rounded_up(values: Iterable[int]) -> int:
    """Return the mean of at least one number."""
    listed = list(values)
    return -(-sum(listed) // len(listed))


def rounded_up(value: Fraction) -> int:
    """Return the smallest whole number that is not below ``value``."""
    return -(-value.numerator // value.denominator)

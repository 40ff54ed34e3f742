"""Checks label keys and values as the API server does (apimachinery, util/validation)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from poseidon.kube.parsing.defects import Defect, shorten

_WORD = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_LONGEST_WORD, _LONGEST_PREFIX = 63, 253
_WORDS = "letters, digits, '-', '_' and '.', letters or digits at both ends, at most 63"


def key_fault(key: str) -> str:
    """Return what is wrong with a label's key, "" if nothing is."""
    if not key:
        return "missing; name the label"
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _SUBDOMAIN.fullmatch(prefix)):
        return f"{key!r} is not a label key; before the '/' stands a DNS name such as example.com"
    if not _is_word(name):
        return f"{key!r} is not a label key; use {_WORDS}"
    return ""


def value_fault(value: str) -> str:
    """Return what is wrong with a label's value, "" if nothing is."""
    return "" if not value or _is_word(value) else f"{value!r} is not a label value; use {_WORDS}"


def label_defects(labels: Mapping[str, str], path: str) -> Iterator[Defect]:
    """Yield what is wrong with a map of labels at ``path``."""
    for key, value in labels.items():
        for fault in filter(None, (key_fault(key), value_fault(value))):
            yield Defect(f"{path}[{key}]" if key else path, fault)


def namespace_fault(name: str) -> str:
    """Return what is wrong with the name of a namespace, "" if nothing is."""
    if len(name) <= _LONGEST_WORD and _DNS_LABEL.fullmatch(name):
        return ""
    return f"{name!r} is not the name of a namespace; use lower-case letters, digits and '-', at most 63"


def object_name_fault(name: str) -> str:
    """Return what is wrong with the name of an object, "" if nothing is."""
    if len(name) <= _LONGEST_PREFIX and _SUBDOMAIN.fullmatch(name):
        return ""
    return (
        f"{shorten(repr(name))} is not the name of an object; use lower-case letters, digits, '-' and '.', at most "
        f"{_LONGEST_PREFIX}"
    )


def _is_word(text: str) -> bool:
    return len(text) <= _LONGEST_WORD and bool(_WORD.fullmatch(text))

"""Credentials are cut out of whatever people or programs are shown: out of URLs, and of arguments that are secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CUT = "***"
"""What stands in a secret's place."""

_USER = r"(?<=://)[^/\s?#{ends}]*@"
"""User and password of a URL, up to the last @ before its path."""
_BAD_USER = r"(?<=://)[^/\s?#@:{ends}]*:(?!\d*(?:[/?#\s{ends})\],;']|$))[^\s{ends}]*@"
"""The same where a password holds a slash that nobody has encoded: what stands for a port is no number."""
_NAMES = "token|secret|passw|pwd|key|auth|credential|sign|sig|session|code"
_PARAMETER = r"(?<=[?&#;])([\w.\-\[\]]*(?:{names})[\w.\-\[\]]*=)[^&#;\s{ends}]+"

_ENDS = '"<>`'
"""What a URL does not hold, and what stands around it in texts."""


def _patterns(ends: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    user = f"{_USER.format(ends=ends)}|{_BAD_USER.format(ends=ends)}"
    return re.compile(user), re.compile(_PARAMETER.format(names=_NAMES, ends=ends), re.IGNORECASE)


_IN_TEXTS = _patterns(_ENDS)
_IN_VALUES = _patterns("")
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*://")
_SECRET = re.compile(
    r"(?:password|passwd|pwd|secret|token|credentials?|(?:api|access|private|secret)[-_]?key)$", re.IGNORECASE
)


def redact_credentials(text: str) -> str:
    """Return a text without the credentials of the URLs in it: user, password, and parameters such as ``token=``."""
    return _redact(text, *_IN_TEXTS)


def redact_value(value: str) -> str:
    """Return one value, which may be a URL, without credentials.

    In one that begins as a URL, quotes and brackets count as parts of a password.
    """
    return _redact(value, *(_IN_VALUES if _SCHEME.match(value) else _IN_TEXTS))


def redact_address(value: str) -> str:
    """Return what somebody has given for a URL without credentials, although it may be none: ``user:password@host``."""
    cut = redact_value(value)
    user, separator, rest = cut.rpartition("@")
    return f"{CUT}@{rest}" if separator and user and not _SCHEME.match(cut) else cut


def redact_urls(value: Any) -> Any:
    """Return a value made of maps, lists and texts, with the credentials of all URLs in its texts cut."""
    return _in_all(value, names=False)


def redact_configuration(value: Any) -> Any:
    """Return the same, and texts cut as well that stand under a name such as ``password`` or ``apiToken``.

    Names of files, as ``tokenFile``, are no secrets.
    """
    return _in_all(value, names=True)


def _in_all(value: Any, *, names: bool) -> Any:
    if isinstance(value, str):
        return redact_value(value)
    if isinstance(value, Mapping):
        return {
            key: CUT if names and _is_secret(key, each) else _in_all(each, names=names)
            for key, each in value.items()
        }
    return [_in_all(each, names=names) for each in value] if isinstance(value, (list, tuple)) else value


def _is_secret(key: object, value: object) -> bool:
    return isinstance(key, str) and isinstance(value, str) and value != "" and bool(_SECRET.search(key))


def _redact(text: str, user: re.Pattern[str], parameter: re.Pattern[str]) -> str:
    if "://" in text and "@" in text:
        text = user.sub(f"{CUT}@", text)
    return (
        parameter.sub(rf"\1{CUT}", text)
        if "=" in text and ("?" in text or "#" in text or "&" in text)
        else text
    )

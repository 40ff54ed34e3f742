"""Removes credentials from texts that people or programs get: from URLs, and from arguments that are secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CUT = "***"
"""The text that replaces a secret."""

_USER = r"(?<=://)[^/\s?#{ends}]*@"
"""User and password of a URL, up to the last @ before its path."""
_BAD_USER = r"(?<=://)[^/\s?#@:{ends}]*:(?!\d*(?:[/?#\s{ends})\],;']|$))[^\s{ends}]*@"
"""User and password of a URL whose password has an unencoded slash: the text before the slash is no port number."""
_NAMES = "token|secret|passw|pwd|key|auth|credential|sign|sig|session|code"
_PARAMETER = r"(?<=[?&#;])([\w.\-\[\]]*(?:{names})[\w.\-\[\]]*=)[^&#;\s{ends}]+"

_ENDS = '"<>`'
"""Characters that are not in a URL but around it in texts."""


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
    """Return a value, which may be a URL, without credentials.

    In a value that begins like a URL, quotes and brackets may be parts of a password.
    """
    return _redact(value, *(_IN_VALUES if _SCHEME.match(value) else _IN_TEXTS))


def redact_address(value: str) -> str:
    """Return a text given as a URL without credentials, even if it is none, such as ``user:password@host``."""
    cut = redact_value(value)
    user, separator, rest = cut.rpartition("@")
    return f"{CUT}@{rest}" if separator and user and not _SCHEME.match(cut) else cut


def redact_urls(value: Any) -> Any:
    """Return a value of maps, lists and texts without the credentials of the URLs in its texts."""
    return _in_all(value, names=False)


def redact_configuration(value: Any) -> Any:
    """Return a value as ``redact_urls`` does, also without the texts at keys such as ``password`` or ``apiToken``.

    Names of files, such as at ``tokenFile``, are no secrets.
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

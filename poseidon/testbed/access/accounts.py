"""Bearer tokens: that of the administrator, and those that service accounts are given for a while."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from poseidon.testbed.objects import errors

if TYPE_CHECKING:
    from collections.abc import Callable

ADMINISTRATOR = "admin"
"""May do everything. So is everyone where no token is asked for, unless they come with one of an account."""

_SCHEME = "Bearer "


class Accounts:
    """Tokens and whose they are. ``token`` is the administrator's; None lets everyone in as such.

    ``clock`` gives wall-clock seconds.
    """

    def __init__(self, token: str | None, clock: Callable[[], float]) -> None:
        self._token = token
        self._clock = clock
        self._issued: dict[str, tuple[str, float]] = {}

    def issue(self, namespace: str, name: str, seconds: float) -> tuple[str, float]:
        """Return a new token of a service account, and until when it is good."""
        token, until = secrets.token_urlsafe(32), self._clock() + seconds
        self._issued[token] = (f"system:serviceaccount:{namespace}:{name}", until)
        return token, until

    def revoke_all(self) -> None:
        """Let no token be good any more that was issued until now."""
        self._issued.clear()

    def user_of(self, authorization: str) -> str:
        """Return who comes with this header; nothing for somebody without a name.

        Raises ``ApiError`` 401 for a token that is wrong or no longer good.
        """
        user, until = self._issued.get(authorization.removeprefix(_SCHEME), ("", 0.0))
        if user and self._clock() < until:
            return user
        if self._token is None and not user:
            return ADMINISTRATOR
        if not authorization:
            return ""
        if self._token is not None and hmac.compare_digest(
            authorization.encode(), f"{_SCHEME}{self._token}".encode()
        ):
            return ADMINISTRATOR
        raise errors.unauthorized()

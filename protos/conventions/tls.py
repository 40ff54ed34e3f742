"""TLS between the two programs, each with a certificate: the files, and the options that name these.

Files are read again when they are needed, so that certificates can be replaced while a program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    import grpc

F = TypeVar("F", bound=Callable[..., Any])

_META = "poseidon.tls"
_OPTIONS = (
    ("cert", "Certificate that this program presents to the other one (PEM)."),
    ("key", "Private key of --tls-cert."),
    ("ca", "Certificates of the authorities that must have signed the other program's certificate."),
)
_READINGS = 5


class TlsError(ValueError):
    """Files for TLS cannot be used; the text says which, and why."""


class TlsContents(NamedTuple):
    """The contents of all files at one time."""

    certificate: bytes
    key: bytes
    authority: bytes

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Return the contents as gRPC's credentials for a client."""
        import grpc

        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of a certificate, its key, and the authority of the other side's certificate."""

    certificate: Path
    key: Path
    authority: Path

    def read(self) -> TlsContents:
        """Return the contents of the files, all of one time. Raises ``TlsError``."""
        contents = self._read()
        for _ in range(_READINGS):
            again = self._read()
            if again == contents:
                break
            contents = again
        return contents

    def _read(self) -> TlsContents:
        try:
            return TlsContents(*(path.read_bytes() for path in (self.certificate, self.key, self.authority)))
        except OSError as error:
            raise TlsError(f"{error.filename}: {error.strerror}; TLS needs it") from None


def tls_options(command: F) -> F:
    """Add --tls-cert, --tls-key and --tls-ca to a command, which gets the files from ``read_chosen_tls``."""
    for name, text in reversed(_OPTIONS):
        command = click.option(
            f"--tls-{name}",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help=text,
        )(command)
    return command


def _remember(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    context.meta.setdefault(_META, {})[parameter.name] = value


def read_chosen_tls() -> TlsFiles | None:
    """Return the files that the command's options name, None if none. Raises ``TlsError`` if they cannot be read."""
    given = click.get_current_context().meta.get(_META, {})
    files = [given.get(f"tls_{name}") for name, _ in _OPTIONS]
    if not any(files):
        return None
    if not all(files):
        raise TlsError("--tls-cert, --tls-key and --tls-ca go together; give all three")
    chosen = TlsFiles(*files)
    chosen.read()
    return chosen

"""Sets up TLS for the solver: certificates that are reread when they change, and the clusters of each client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import grpc

from protos.conventions.tls import TlsContents, TlsError, TlsFiles

log = logging.getLogger(__name__)

ANY_CLUSTER = "*"
_NAMES = ("x509_common_name", "x509_subject_alternative_name")


def parse_clients(given: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return the allowed clusters by name in certificates, from texts ``NAME=CLUSTER``.

    Raise ``TlsError`` if a text has another form.
    """
    found: dict[str, frozenset[str]] = {}
    for text in given:
        name, _, cluster = text.partition("=")
        if not name or not cluster:
            raise TlsError(f"--tls-client: {text!r} is not NAME=CLUSTER, as in poseidon=default")
        found[name] = found.get(name, frozenset()) | {cluster}
    return found


class Clients:
    """The clusters that each client may drive and ask about, by the names in its certificate.

    Without TLS, every client may use all clusters. A cluster's name also allows the clusters of its observers, which
    have names that begin with it and a dot; ``*`` allows all.
    """

    def __init__(self, clusters: Mapping[str, frozenset[str]] | None = None) -> None:
        self._clusters = clusters

    def may(self, context: Any, cluster: str) -> bool:
        """Return whether the client of a call may use ``cluster``."""
        if self._clusters is None:
            return True
        own = [each for name in names_of(context) for each in self._clusters.get(name, ())]
        return any(each in (ANY_CLUSTER, cluster) or cluster.startswith(f"{each}.") for each in own)

    def refusal(self, context: Any, cluster: str) -> str:
        """Return the text that says why the client of a call may not use ``cluster``."""
        names = ", ".join(sorted(names_of(context))) or "no name"
        return f"a certificate for {names} may not drive cluster {cluster!r}; allow it with --tls-client"


def names_of(context: Any) -> frozenset[str]:
    """Return the common name and the alternative names in the certificate of a call's peer."""
    stated: Mapping[str, Sequence[bytes]] = context.auth_context()
    return frozenset(
        each.decode("utf-8", "replace") for kind in _NAMES for each in stated.get(kind, ()) if each
    )


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials from the files; each new connection uses the files' present content.

    Clients must show a certificate of the authority. Raise ``TlsError`` if the files cannot be read now. If the
    certificate files cannot be read later on, the solver logs this, and continues with their former content.
    """
    first = files.read()
    return grpc.dynamic_ssl_server_credentials(
        _configuration(first),
        _follower(files, first),  # type: ignore[arg-type] # None means "as before", which the stubs do not state
        require_client_authentication=True,
    )


def _follower(
    files: TlsFiles, first: TlsContents
) -> Callable[[], grpc.ServerCertificateConfiguration | None]:
    known = first

    def read_changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal known
        try:
            contents = files.read()
        except TlsError as error:
            log.warning('certificate not read, the former one stays error="%s"', error)
            return None
        if contents == known:
            return None
        known = contents
        log.info("certificate read anew")
        return _configuration(contents)

    return read_changed


def _configuration(contents: TlsContents) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(contents.key, contents.certificate)], contents.authority
    )

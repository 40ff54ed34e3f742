"""Checks the TLS files for the solver: certificates that are valid now, and the matching key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from poseidon.doctor.findings import Finding, Verdict
from protos.conventions.tls import TlsError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from protos.conventions.tls import TlsFiles

SOON = timedelta(days=7)
"""A certificate that expires sooner than in this time is reported.

Cert-manager renews certificates after two thirds of their lifetime.
"""


def check_certificates(files: TlsFiles, now: float) -> Iterator[Finding]:
    """Yield findings about the certificate files; ``now`` is in seconds since the epoch."""
    when = datetime.fromtimestamp(now, UTC)
    try:
        contents = files.read()
    except TlsError as error:
        yield Finding("certificate", Verdict.WRONG, str(error))
        return
    yield _own(files, contents.certificate, contents.key, when)
    yield _authority(files.authority, contents.authority, when)


def _own(files: TlsFiles, certificate: bytes, key: bytes, now: datetime) -> Finding:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates

    check = "certificate"
    try:
        shown = load_pem_x509_certificates(certificate)[0]
    except ValueError as error:
        return Finding(check, Verdict.WRONG, f"{files.certificate} holds no certificate (PEM): {error}")
    try:
        belongs = load_pem_private_key(key, None).public_key() == shown.public_key()
    except (ValueError, TypeError) as error:
        return Finding(check, Verdict.WRONG, f"{files.key} holds no key without a password (PEM): {error}")
    if not belongs:
        return Finding(check, Verdict.WRONG, f"{files.key} is not the key of {files.certificate}")
    return _in_time(check, files.certificate, shown, now)


def _authority(path: Path, content: bytes, now: datetime) -> Finding:
    from cryptography.x509 import load_pem_x509_certificates

    check = "certificate authority"
    try:
        trusted = load_pem_x509_certificates(content)
    except ValueError as error:
        return Finding(check, Verdict.WRONG, f"{path} holds no certificate (PEM): {error}")
    # While a certificate is replaced, a file may hold several; the one that is valid longest counts.
    longest = max(trusted, key=lambda each: each.not_valid_after_utc)
    return _in_time(check, path, longest, now)


def _in_time(check: str, path: Path, found: Certificate, now: datetime) -> Finding:
    begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
    if now < begins:
        return Finding(check, Verdict.WRONG, f"{path}: not valid before {begins:%F %T} UTC; check the clock")
    if now > ends:
        return Finding(check, Verdict.WRONG, f"{path}: was good until {ends:%F %T} UTC; replace it")
    text = f"{path}: good until {ends:%F %T} UTC"
    if ends - now < SOON:
        return Finding(check, Verdict.WARNING, f"{text}, which is soon; make sure that it is being replaced")
    return Finding(check, Verdict.OK, text)

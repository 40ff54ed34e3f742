"""Certificates for tests, made by openssl."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a certificate and its key."""

    certificate: Path
    key: Path


def make_authority(folder: Path, name: str) -> Certificate:
    """Make an authority that signs for itself. Skips the test where openssl is missing."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}-key.pem")
    _openssl("req", "-x509", *_new(made, name), "-addext", "keyUsage=critical,keyCertSign")
    return made


def sign(authority: Certificate, folder: Path, name: str, alternative: str = "") -> Certificate:
    """Make a certificate that an authority has signed; ``alternative`` is whom it is for: ``IP:…`` or ``DNS:…``."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}-key.pem")
    named = ["-addext", f"subjectAltName={alternative}"] if alternative else []
    by = ["-CA", str(authority.certificate), "-CAkey", str(authority.key)]
    _openssl("req", "-x509", *_new(made, name), *by, *named, "-addext", "basicConstraints=critical,CA:FALSE")
    return made


def server_context(own: Certificate, clients: Certificate | None = None) -> ssl.SSLContext:
    """Return the context of a server; with ``clients`` only those come in whom that authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.certificate)
    return context


def _new(made: Certificate, name: str) -> list[str]:
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    return [
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
        *files,
        *_subject(name),
    ]


def _subject(name: str) -> list[str]:
    return ["-subj", f"/CN={name}"]


def _openssl(*arguments: str) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the test's certificates")
    subprocess.run([openssl, *arguments], check=True, capture_output=True)

"""Certificates for tests."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from protos.conventions.tls import TlsFiles

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a certificate and its key."""

    certificate: Path
    key: Path


def make_authority(folder: Path, name: str) -> Certificate:
    """Make an authority that signs for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        key_cert_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = _begun(name, name, key.public_key(), (-DAY, 2 * DAY))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = made.add_extension(usage, critical=True)
    return _written(folder, name, made.sign(key, hashes.SHA256()), key)


def sign(
    authority: Certificate,
    folder: Path,
    name: str,
    alternative: str = "",
    good: tuple[timedelta, timedelta] = (-DAY, 2 * DAY),
) -> Certificate:
    """Make a certificate that an authority has signed, ``good`` from and until, counted from now.

    ``alternative`` is whom it is for: ``IP:…`` or ``DNS:…``.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    signer = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
    signing = serialization.load_pem_private_key(authority.key.read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    (common,) = signer.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    made = _begun(name, str(common.value), key.public_key(), good)
    made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if alternative:
        kind, _, value = alternative.partition(":")
        named = x509.IPAddress(ipaddress.ip_address(value)) if kind == "IP" else x509.DNSName(value)
        made = made.add_extension(x509.SubjectAlternativeName([named]), critical=False)
    return _written(folder, name, made.sign(signing, hashes.SHA256()), key)


def server_context(own: Certificate, clients: Certificate | None = None) -> ssl.SSLContext:
    """Return the context of a server; with ``clients`` only those come in whom that authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.certificate)
    return context


def flags(files: TlsFiles) -> tuple[str, ...]:
    """Return the options by which programs take files."""
    return (f"--tls-cert={files.certificate}", f"--tls-key={files.key}", f"--tls-ca={files.authority}")


def _begun(
    name: str, issuer: str, key: ec.EllipticCurvePublicKey, good: tuple[timedelta, timedelta]
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + good[0])
        .not_valid_after(now + good[1])
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _written(folder: Path, name: str, made: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Certificate:
    files = Certificate(folder / f"{name}.pem", folder / f"{name}-key.pem")
    files.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files

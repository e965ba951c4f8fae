"""A TLS listener with a self-signed certificate."""

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from world import World


@dataclass
class Listener:
    """Where it listens, and how many bytes it was sent behind a handshake."""

    port: int
    bytes_read: int = 0


@contextmanager
def certified(world: World, name: str, days: int) -> Iterator[Listener]:
    """Listens as `name`, with a certificate that ends in so many days."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate(world.root, name, days))
    with socket.create_server(("127.0.0.1", 0)) as plain:
        listener = Listener(plain.getsockname()[1])
        threading.Thread(target=listen, args=[context, plain, listener], daemon=True).start()
        yield listener


def listen(context: ssl.SSLContext, plain: socket.socket, listener: Listener) -> None:
    """Counts the bytes of clients that accept the certificate; until the listener is closed."""
    while True:
        try:
            connection, _ = plain.accept()
        except OSError:
            return
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
            listener.bytes_read += len(secure.recv(1 << 16))


def certificate(directory: Path, name: str, days: int) -> Path:
    """Makes a key and a certificate of it, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = directory / "certificate.pem"
    path.write_bytes(secret + made.public_bytes(encoding))
    return path

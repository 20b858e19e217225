"""The access to metrics: the certificate and the password, as settings and environment name them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

from prism.config import MetricsConfig
from prism.errors import ConfigError

PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value


def check_access(config: MetricsConfig, environment: Mapping[str, str] = os.environ) -> None:
    """Check the certificate and the password, without listening."""
    read_tls(config)
    read_credentials(config, environment)


def read_tls(config: MetricsConfig) -> ssl.SSLContext | None:
    """Return what encrypts the connections; None without a certificate."""
    certificate, key = config.tls_cert, config.tls_key
    if certificate is None:
        if key is not None:
            raise ConfigError("configuration", "expected the certificate of this key, got null", key="metrics.tls_cert")
        return None
    if key is None:
        raise ConfigError("configuration", "expected the key of the certificate, got null", key="metrics.tls_key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a passphrase must be an error: a prompt would stop a run without a user at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:  # OpenSSL's errors are OSErrors, too
        reason = getattr(error, "reason", None) or error.strerror or "not a certificate and its key"
        raise ConfigError(
            "configuration", f"{certificate} and {key} cannot be used for TLS: {reason}", key="metrics.tls_cert"
        ) from None
    return context


def read_credentials(config: MetricsConfig, environment: Mapping[str, str]) -> bytes | None:
    """Return the user and the password, as HTTP sends them; None without a user."""
    if config.username is None:
        return None
    password = environment.get(PASSWORD, "")
    if not password:
        raise ConfigError(
            "configuration",
            f"expected the password of {config.username!r} in ${PASSWORD}, got none",
            key="metrics.username",
        )
    return f"{config.username}:{password}".encode()

"""The master of a standalone cluster: where it is, and whether anything listens there.

Spark itself asks for it three times, for twenty seconds each, and then fails with an error that does not name it.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from streamshed.errors import ClusterUnavailableError, InvalidNetworkError, near_miss

CONNECT_SECONDS = 5.0
"""How long a master may take to accept a connection."""

_STANDALONE = "spark://"
_OTHERS = ("local", "local[", "local-cluster[", "yarn", "k8s://")
_EXAMPLE = "spark://HOST:7077, or spark://HOST1:7077,HOST2:7077 where one stands by for another"


def is_standalone(master: str) -> bool:
    """Tell whether an application's master is that of a standalone cluster."""
    return master.startswith(_STANDALONE)


def master_addresses(master: str) -> tuple[tuple[str, int], ...]:
    """Return host and port of each master that a standalone cluster has.

    Args:
        master: What an application calls them, such as "spark://host:7077".

    Raises:
        InvalidNetworkError: It is not such a master; lists all that is wrong with it.

    Example:
        >>> master_addresses("spark://one:7077,two:7078")
        (('one', 7077), ('two', 7078))
        >>> master_addresses("spark://one")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: the master "spark://one": "one" names no port; a standalone cluster is
        written spark://HOST:7077, or spark://HOST1:7077,HOST2:7077 where one stands by for another
    """
    addresses, problems = [], []
    for part in master.removeprefix(_STANDALONE).split(","):
        try:
            addresses.append(_address(part))
        except ValueError as error:
            problems.append(f'the master "{master}": {error}; a standalone cluster is written {_EXAMPLE}')
    if problems:
        raise InvalidNetworkError(*problems)
    return tuple(addresses)


def require_master(master: str) -> None:
    """Check that the master an application is to have can be reached; other clusters' are left to Spark.

    Args:
        master: What Spark is going to be told.

    Raises:
        InvalidNetworkError: Spark knows no such master.
        ClusterUnavailableError: None of a standalone cluster's masters can be reached.
    """
    if not is_standalone(master):
        if not master.startswith(_OTHERS):
            question = near_miss(master.partition(":")[0], ("spark", "local", "yarn", "k8s"))
            raise InvalidNetworkError(f'the master "{master}" is none that Spark knows{question}, expected {_EXAMPLE}')
        return
    refusals = master_refusals(master)
    if refusals:
        raise ClusterUnavailableError(
            f"no master of a standalone cluster can be reached: {'; '.join(refusals)} (does it run, and is this the"
            ' address that it calls itself by in its log, "Starting Spark master at"?)'
        )


def master_refusals(master: str, *, timeout_seconds: float = CONNECT_SECONDS) -> tuple[str, ...]:
    """Return why no master can be reached, one sentence each; none if any can, as one may stand by for another.

    Raises:
        InvalidNetworkError: It is no standalone cluster's.
    """
    refusals: list[str] = []
    for host, port in master_addresses(master):
        try:
            socket.create_connection((host, port), timeout_seconds).close()
        except OSError as error:
            refusals.append(f"{host}:{port}: {_said(error, timeout_seconds)}")
        else:
            return ()
    return tuple(refusals)


def _address(part: str) -> tuple[str, int]:
    if not part:
        raise ValueError("an address is empty")
    if "://" in part:
        raise ValueError(f'"{part}" begins anew, where "{_STANDALONE}" stands once before all of them')
    try:
        split = urlsplit(f"{_STANDALONE}{part}")
        host, port = split.hostname, split.port
    except ValueError as error:
        raise ValueError(f'"{part}" is no address ({error})') from error
    if not host:
        raise ValueError(f'"{part}" names no host')
    if not port:
        raise ValueError(f'"{part}" names no port')
    if split.path or split.query or split.fragment or split.username is not None:
        raise ValueError(f'"{part}" says more than host and port')
    return host, port


def _said(error: OSError, timeout_seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer for {timeout_seconds:g} s"
    if isinstance(error, socket.gaierror):
        return f"no such host ({error.strerror})"
    return (error.strerror or str(error)).lower()

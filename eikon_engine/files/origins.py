"""Parts, schemes and origins of URLs as browsers read them, and which hosts are public."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from eikon_engine.errors import UsageError

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
"""Ports that an origin does not name, by scheme."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_STRIPPED: Final = "".join(map(chr, range(0x21)))
"""What browsers strip from both ends of a URL: control characters and spaces."""
_UNICAST: Final = ip_network("2000::/3")
"""IPv6 addresses of the Internet (RFC 4291, section 2.4, and IANA's registry of unicast addresses)."""
_TRANSLATION: Final = ip_network("64:ff9b::/96")
"""IPv6 addresses that stand for those of IPv4 (NAT64)."""


def split_url(url: str) -> SplitResult:
    """Return the parts of a URL; a text that is no URL, such as `http://[`, which a site may send, has none."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult(scheme="", netloc="", path="", query="", fragment="")


def url_scheme(url: str) -> str:
    """Return the scheme that a browser reads, in lower case; empty if there is none."""
    found = _SCHEME.match(_as_read(url))
    return "" if found is None else found[0].lower()


def url_origin(url: str) -> str:
    """Return the origin of an http or https URL, without a default port; empty for any other text."""
    try:
        parts = urlsplit(_as_read(url).replace("\\", "/"))
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        return ""
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not host:
        return ""
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port in {None, DEFAULT_PORTS[scheme]} else f"{scheme}://{name}:{port}"


def host_and_port(origin: str) -> tuple[str, int]:
    """Return where an origin of `url_origin` is reached."""
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]


def parse_origin(text: str, where: str) -> str:
    """Parse an origin, such as `https://shop.example`, that was given at `where`.

    Raises:
        UsageError: it is not an http or https URL, or has more than scheme, host and port.
    """
    origin = url_origin(text)
    if not origin or re.search(r"[\s\\?#@]", text) or split_url(text).path not in {"", "/"}:
        message = f"{where}: expected an origin, such as https://shop.example, got {text!r}"
        raise UsageError(message)
    return origin


def is_public_host(host: str) -> bool:
    """Return whether a host may be public: no name of this machine, and no address that is loopback or private."""
    name = host.strip("[]").rstrip(".").lower()
    if not name or name == "localhost" or name.endswith(".localhost"):
        return False
    try:
        return is_public_address(str(IPv4Address(socket.inet_aton(name))))  # reads 127.1 and 0x7f000001, as browsers do
    except (OSError, ValueError):
        return ":" not in name or is_public_address(name)


def is_public_address(text: str) -> bool:
    """Return whether an IP address is one of the Internet; one that stands for another address, if both are."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATION:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public_address(str(inner))
        if address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _as_read(url: str) -> str:
    return re.sub(r"[\t\n\r]", "", url.strip(_STRIPPED))

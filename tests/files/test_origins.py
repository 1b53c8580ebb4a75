"""Schemes and origins as browsers read them, and hosts that are public."""

from __future__ import annotations

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.files.origins import (
    is_public_address,
    is_public_host,
    parse_origin,
    split_url,
    url_origin,
    url_scheme,
)


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("https://shop.example/", "https"),
        ("FILE:///etc/hostname", "file"),
        (" \x01file:///etc/hostname", "file"),
        ("fi\nle:///etc/hostname", "file"),
        ("view-source:https://shop.example/", "view-source"),
        ("/cart?next=data:x", ""),
        ("", ""),
    ],
)
def test_a_scheme_is_what_a_browser_reads(url: str, scheme: str) -> None:
    """Browsers ignore case, leading control characters, and line breaks anywhere."""
    assert url_scheme(url) == scheme


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://shop.example/cart?x#y", "https://shop.example"),
        ("HTTPS://Shop.Example:443/", "https://shop.example"),
        ("http://user:pw@shop.example:8080/", "http://shop.example:8080"),
        ("http:\\\\shop.example\\cart", "http://shop.example"),
        ("http://bücher.example/", "http://xn--bcher-kva.example"),
        ("http://[::1]:80/", "http://[::1]"),
        ("about:blank", ""),
        ("blob:https://shop.example/1", ""),
        ("http://shop.example:99999/", ""),
    ],
)
def test_an_origin_is_what_a_browser_reads(url: str, origin: str) -> None:
    """It has no default port, and names in ASCII; what is not http or https has none."""
    assert url_origin(url) == origin


@pytest.mark.parametrize(
    "text", ["shop.example", "file:///etc", "https://shop.example/cart", "https://a@b.example", ""]
)
def test_what_is_more_or_less_than_an_origin_is_refused(text: str) -> None:
    """The error names where it was given."""
    with pytest.raises(UsageError, match=r"--secret: expected an origin, such as https://shop\.example"):
        parse_origin(text, "--secret")


PRIVATE = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0", "10.0.0.8", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "224.0.0.1", "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]", "[fec0::1]", "[::7f00:1]", "[64:ff9b:1::7f00:1]", "[4000::1]",
    "localhost", "LOCALHOST.", "shop.localhost", "",
]  # fmt: skip


@pytest.mark.parametrize("host", PRIVATE)
def test_hosts_of_this_machine_and_its_networks_are_not_public(host: str) -> None:
    """However the address is written, and whatever other address it stands for."""
    assert not is_public_host(host)


@pytest.mark.parametrize("host", ["shop.example", "93.184.216.34", "[2606:2800:220:1:248:1893:25c8:1946]"])
def test_names_and_addresses_of_the_internet_are_public(host: str) -> None:
    """A name may be public; only its address tells."""
    assert is_public_host(host)
    assert not is_public_address("shop.example")


@pytest.mark.parametrize("text", ["http://[", "http://[v1.a/", "//\u2100.example/", "http://[::1"])
def test_a_text_that_is_no_url_has_no_parts(text: str) -> None:
    """A page may call anything a URL, so that nothing that reads one may fail."""
    assert not any(split_url(text))

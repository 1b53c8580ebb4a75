"""Two requests have the same key exactly when they ask for the same resource."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.keys import CANONICAL_JSON_LIMIT, canonical_url, request_key

JSON_TYPE = "application/json; charset=utf-8"
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "HTTPS", "ws", "blob:http", "app"]),
    st.text(alphabet="aB.:[]@0123456789é", max_size=12),
    st.text(alphabet="/aB%20 :@", max_size=12).map(lambda path: f"/{path}" if path else ""),
    st.text(alphabet="?&=#aB+ ", max_size=12).map(lambda query: f"?{query}" if query else ""),
)


@pytest.mark.parametrize(
    ("method", "url", "body", "content_type", "key"),
    (
        ("GET", "https://shop.test/items?page=2#top", None, None, "GET https://shop.test/items?page=2"),
        ("get", "HTTPS://Shop.Test:443", None, None, "GET https://shop.test/"),
        ("GET", "http://shop.test:8080/a?b=2&a=1&b=1", None, None, "GET http://shop.test:8080/a?b=2&a=1&b=1"),
        ("GET", "http://shop.test?q=%41", b"", None, "GET http://shop.test/?q=%41"),
        ("GET", "http://u:P@Shop.Test:80/A", None, None, "GET http://u:P@shop.test/A"),
        ("GET", "http://[::1]:80/", None, None, "GET http://[::1]/"),
        ("GET", "http://a/?", None, None, "GET http://a/?"),
        ("patch", "http://a/", None, None, "patch http://a/"),
        ("GET", "data:text/plain,Hi", None, None, "GET data:text/plain,Hi"),
        (
            "POST",
            "http://a/",
            b'{ "b": 1.50, "a": [true, null] }',
            JSON_TYPE,
            "POST http://a/ sha256:f513710d9b9a36aa13374980938d82beee2b76dbf35eb5eaecb1344546c7f05e",
        ),
        (
            "POST",
            "http://a/",
            b"q=1&p=2",
            "application/x-www-form-urlencoded",
            "POST http://a/ sha256:" + hashlib.sha256(b"q=1&p=2").hexdigest(),
        ),
    ),
)
def test_fixed_vectors(method: str, url: str, body: bytes | None, content_type: str | None, key: str) -> None:
    """The key of a request never changes between versions; otherwise old bundles would have misses."""
    assert request_key(method, url, body, content_type) == key


@given(JSON_VALUES, st.binary(max_size=4))
def test_json_key_order_and_spaces_do_not_matter(value: object, salt: bytes) -> None:
    """JSON with the same content in another order has the same key."""
    one = json.dumps(value).encode()
    other = json.dumps(_reordered(value, salt), indent=2, ensure_ascii=False).encode()

    assert request_key("POST", "http://a/", one, JSON_TYPE) == request_key("POST", "http://a/", other, JSON_TYPE)


@given(JSON_VALUES, JSON_VALUES)
def test_other_json_has_another_key(one: object, other: object) -> None:
    """JSON with different content has another key."""
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    keys = [request_key("POST", "http://a/", text.encode(), JSON_TYPE) for text in texts]

    assert (keys[0] == keys[1]) == (texts[0] == texts[1])


@pytest.mark.parametrize(
    ("one", "other"),
    (
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b"[NaN]", b"[ NaN]"),
        (b'{"a":9007199254740993}', b'{"a":9007199254740992}'),
        (b"[1,2]", b"[2,1]"),
    ),
)
def test_json_is_normalized_only_if_that_is_safe(one: bytes, other: bytes) -> None:
    """Numbers are compared as written; duplicate names and invalid JSON byte for byte."""
    assert request_key("POST", "http://a/", one, JSON_TYPE) != request_key("POST", "http://a/", other, JSON_TYPE)


def test_hostile_json_is_digested_unparsed() -> None:
    """Deep nesting and bodies over the limit are digested as bytes."""
    for body in (b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b" " * CANONICAL_JSON_LIMIT + b"1"):
        key = request_key("POST", "http://a/", body, JSON_TYPE)

        assert key.endswith(hashlib.sha256(body).hexdigest())


@given(
    st.lists(st.text(alphabet="ab-09'()+_,./:=?", min_size=1, max_size=70), min_size=2, max_size=2),
    st.lists(st.binary(max_size=30), min_size=1, max_size=3),
)
def test_multipart_boundary_does_not_matter(boundaries: list[str], parts: list[bytes]) -> None:
    """Parts with another boundary have the same key."""
    keys = {
        request_key("POST", "http://a/", _multipart(boundary, parts), f'multipart/form-data; boundary="{boundary}"')
        for boundary in boundaries
    }

    assert len(keys) == 1


def test_multipart_content_matters() -> None:
    """Different parts have another key, even if a part contains the text of the boundary."""
    bodies = [_multipart("XX", [part]) for part in (b"one", b"two", b"one --XX", b"one --eikon-boundary")]
    keys = {request_key("POST", "http://a/", body, "multipart/form-data; boundary=XX") for body in bodies}

    assert len(keys) == len(bodies)


@given(URLS)
def test_canonical_url_is_stable_and_has_no_fragment(url: str) -> None:
    """A canonical URL is its own canonical form, and its fragment is removed."""
    canonical = canonical_url(url)

    assert canonical_url(canonical) == canonical
    assert canonical_url(url + "#part") == canonical
    assert "#" not in canonical
    assert " " not in canonical


def _reordered(value: object, salt: bytes) -> object:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: hashlib.sha256(salt + repr(name).encode()).digest())
        return {name: _reordered(value[name], salt) for name in names}
    return [_reordered(member, salt) for member in value] if isinstance(value, list) else value


def _multipart(boundary: str, parts: list[bytes]) -> bytes:
    mark = boundary.encode()
    return b"".join(b"--" + mark + b"\r\n\r\n" + part + b"\r\n" for part in parts) + b"--" + mark + b"--\r\n"

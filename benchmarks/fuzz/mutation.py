"""Break valid inputs: values of JSON, lines, words of texts, members of archives, bytes."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random  # noqa: TID251 - an argument

Form: TypeAlias = Literal["json", "lines", "text", "archive", "bytes"]
"""What a mutated input still is, most of the time: JSON, JSON Lines, text in UTF-8, a zip file, anything."""

MAX_BYTES: Final = 200_000
"""Size that an input may reach; large files are tested elsewhere."""
TEXTS: Final = (
    "", " ", "\n", "\t", "\0", "\x1b[2J", "\ud800", "\udfff", "a\ud83d", "\ufeff", "\uffff", "\u2028", "\u202e", "é",
    "İ", "ß", "²", "٣", "½", "\U0001f600", "NaN", "Infinity", "-Infinity", "1e999", "-0", "0", "-1", "1e400", "0x10",
    "9" * 400, "9" * 5000, "1_000", "null", "true", "[]", "{}", "{{", "}}", "{{a}}", "{{eikon-secret:A}}",
    "{{eikon-secret:A|base64}}", "{{eikon-secret:", "$ref", "../a", "/etc/hostname", "C:\\a", "a/../../b", "~", ".",
    "a" * 300, "(" * 500, "[" * 500, "{" * 500, "(a+)+$", "(?P<a", "[z-a]", "(?i", "\\", "\\1", "*", "**", "?",
    "a{99999999999}", "(?<=a*)b", "http://", "http://[", "http://[::1", "http://[1:2]/", "http://[v1.a]/",
    "http://a:b/", "http://a:99999/", "http://a:-1/", "//", "//[", "http:///", "http://\u2100/", "http://a\u2215b/",
    "http://xn--/", "http://xn--a/", "http://.a/", "http://" + "a" * 70 + ".test/", "http://a.test/?" + "&" * 30,
    "http://a.test/%", "http://a.test/%zz?%ff=%00", "http://u:p@a/", "http://\ud800/", "data:,", "data:text/html,a",
    "javascript:1", "blob:http://a/1", "about:blank", "ws://a:b/", "file:///a", "chrome-error://chromewebdata/", ":",
    "::", "a:", "=", "==", "a=", "=a", ",", ";", "#", "#\ud800", ".", ">>", ">", "a >> nth=", "text=", "xpath=//",
    "css=", "role=", "role=button[name=", "internal:role=", 'internal:text="',
    "iframe >> internal:control=enter-frame", ":has(", ":nth-child(0)", ":nth-child(99999999999999999999n+1)",
    ":not(", "a:is()", "[a=b", "[*|a]", "a|b", "::before", "2026-02-30", "0000-00-00",
    "9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+99:99", "1e30", "-62135596800", "99999999999999", "text/html; charset=",
    "text/html; charset=zip", "text/html;charset=\ud800", "multipart/form-data; boundary=", "application/json",
    "=?utf-8?b?", "gzip", "base64", "utf-7", "idna", "unicode_escape",
)  # fmt: skip
"""Texts that parsers stumble over."""
RAW: Final = (
    "NaN", "-Infinity", "Infinity", "1e999", "-1e999", "1e-999", "-0.0", "9" * 5000, "-" + "9" * 400, "1e30", "1.5",
    "-1", "0", "2147483648", "9007199254740993", "9223372036854775808", "18446744073709551616", "253402300800000",
    "8640000000000001", "1e15", "null", "true", "false", "{}", "[]", '""', "[[]]", "[" * 150 + "]" * 150,
    '{"a":' * 150 + "1" + "}" * 150, "[" * 5000, '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '{"\\ud800":1}',
    '{"a":1,"a":2}', '{"":""}', '["",""]', "01", "'a'", "",
)  # fmt: skip
"""JSON texts that parsers stumble over, some of which are no JSON."""
_CHARACTERS: Final = "\0\t\n\r \"#'*/:[\\]{}\x7f\ud800"
_MARK: Final = "\ue000raw{}\ue000"
_Place: TypeAlias = "tuple[Any, Any]"


def mutate(data: bytes, form: Form, chance: Random, others: Sequence[bytes] = (b"",)) -> bytes:
    """Return a broken copy of an input of a form; `others` are further inputs, of which parts may be taken."""
    kind: Form = "bytes" if chance.random() < 0.08 else form
    for _ in range(20):
        found = _MUTATIONS[kind](data, chance, others)
        if len(found) <= MAX_BYTES:
            return found
    return data


def _mutate_json(data: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    try:
        value = json.loads(data)
        other = json.loads(chance.choice(others))
    except (ValueError, RecursionError):
        return _mutate_text(data, chance, others)
    root = [value]
    raw: dict[str, str] = {}
    for _ in range(_count(chance)):
        _change_place(root, [other], chance, raw)
    return _write_json(root[0], chance, raw)


def _write_json(value: object, chance: Random, raw: Mapping[str, str]) -> bytes:
    is_ascii = chance.random() < 0.7
    try:
        text = json.dumps(value, ensure_ascii=is_ascii or bool(raw), separators=(",", ":"))
    except (ValueError, RecursionError):
        return b"[]"
    for mark, replacement in raw.items():
        text = text.replace(json.dumps(mark), replacement)
    return text.encode("utf-8", "surrogatepass")


def _change_place(root: list[Any], other: list[Any], chance: Random, raw: dict[str, str]) -> None:
    holder, key = chance.choice(_places(root))
    value = holder[key]
    choice = chance.random()
    if choice < 0.3:
        mark = _MARK.format(len(raw))
        raw[mark] = chance.choice(RAW)
        holder[key] = mark
    elif choice < 0.6:
        holder[key] = _changed_text(value, chance) if isinstance(value, str) else chance.choice(TEXTS)
    elif choice < 0.75:
        source, name = chance.choice(_places(other if chance.random() < 0.5 else root))
        holder[key] = json.loads(json.dumps(source[name]))
    else:
        _change_members(holder, key, chance)


def _change_members(holder: Any, key: Any, chance: Random) -> None:  # noqa: ANN401 - plain JSON
    """Delete, rename, duplicate or swap a member or an element."""
    if isinstance(holder, dict):
        value = holder.pop(key)
        if chance.random() < 0.6:
            holder[chance.choice(TEXTS) if chance.random() < 0.5 else f"{key}x"] = value
        return
    choice = chance.random()
    if choice < 0.3 and len(holder) > 1:
        del holder[key]
    elif choice < 0.7:
        holder.insert(key, json.loads(json.dumps(holder[key])))
    else:
        place = chance.randrange(len(holder))
        holder[key], holder[place] = holder[place], holder[key]


def _places(root: list[Any]) -> list[_Place]:
    """Return every member and element below a list, as its holder and its key."""
    found: list[_Place] = []
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        members = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in members:
            found.append((holder, key))
            if isinstance(value, (dict, list)):
                pending.append(value)
    return found


def _mutate_lines(data: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    for _ in range(_count(chance)):
        place = chance.randrange(len(lines))
        choice = chance.random()
        if choice < 0.7:
            lines[place] = _mutate_json(lines[place], chance, [chance.choice(lines)])
        elif choice < 0.8:
            lines.insert(place, chance.choice(lines))
        elif choice < 0.9 and len(lines) > 1:
            del lines[place]
        else:
            further = chance.choice(others).split(b"\n")
            lines[place], lines[-1] = chance.choice(further), lines[place]
    return b"\n".join(lines)


def _mutate_text(data: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    other = chance.choice(others).decode("utf-8", "surrogateescape")
    for _ in range(_count(chance)):
        text = _changed_text(text, chance, other)
    return (
        text.encode("utf-8", "surrogateescape" if chance.random() < 0.5 else "surrogatepass")
        if _is_encodable(text)
        else text.encode("utf-8", "surrogatepass")
    )


def _is_encodable(text: str) -> bool:
    with suppress(UnicodeEncodeError):
        text.encode("utf-8", "surrogateescape")
        return True
    return False


def _changed_text(text: str, chance: Random, other: str = "") -> str:
    if not text or chance.random() < 0.2:
        return chance.choice(TEXTS)
    start = chance.randrange(len(text))
    end = min(len(text), start + chance.choice((1, 1, 2, 5, 20, 200)))
    place = chance.randrange(len(other) or 1)
    cut = text[start:end]
    put = chance.choice(
        (
            chance.choice(TEXTS),
            chance.choice(TEXTS) + cut,
            "",
            cut * chance.choice((2, 3, 50)),
            chance.choice(_CHARACTERS),
            chr(chance.randrange(0x250)),
            other[place : place + 200] or chance.choice(TEXTS),
        )
    )
    return text[:start] + put + text[end:]


def _mutate_bytes(data: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    found = bytearray(data or chance.choice(others))
    for _ in range(_count(chance)):
        place = chance.randrange(len(found) + 1)
        length = chance.choice((0, 1, 1, 2, 4, 30))
        choice = chance.random()
        if choice < 0.5:
            found[place : place + length] = chance.randbytes(length)
        elif choice < 0.7:
            found[place : place + length] = chance.choice(TEXTS).encode("utf-8", "surrogatepass")
        elif choice < 0.85:
            del found[place : place + chance.choice((1, 2, 10, 1000))]
        else:
            found[place:place] = found[place : place + length * 10]
    return bytes(found)


def _mutate_archive(data: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError):
        return _mutate_bytes(data, chance, others)
    for _ in range(_count(chance)):
        if not members:
            break
        name = chance.choice(list(members))
        if chance.random() < 0.85:
            members[name] = _mutate_lines(members[name], chance, [chance.choice(list(members.values()))])
        else:
            content = members.pop(name)
            if chance.random() < 0.7:
                members[_changed_text(name, chance)] = content
    return _packed(members, chance)


def _packed(members: Mapping[str, bytes], chance: Random) -> bytes:
    buffer = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if chance.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in members.items():
            safe = name.encode("utf-8", "replace").decode()
            archive.writestr(zipfile.ZipInfo(safe[:200] or "a"), content, kind)
    packed = bytearray(buffer.getvalue())
    while chance.random() < 0.15:
        packed[chance.randrange(len(packed))] = chance.randrange(256)
    return bytes(packed)


def _count(chance: Random) -> int:
    """Return how many changes to make, most often one."""
    return chance.choice((1, 1, 1, 2, 3, 6))


_MUTATIONS: Final[Mapping[Form, Callable[[bytes, Random, Sequence[bytes]], bytes]]] = {
    "json": _mutate_json,
    "lines": _mutate_lines,
    "text": _mutate_text,
    "archive": _mutate_archive,
    "bytes": _mutate_bytes,
}

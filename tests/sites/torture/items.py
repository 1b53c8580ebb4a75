"""The table of items: what each tests, on which page, and what must be clicked for it."""

from __future__ import annotations

from dataclasses import dataclass

PAGES = {
    "sockets": "WebSockets and event streams",
    "exchanges": "Requests and answers",
    "bodies": "Bodies, redirects and files",
    "parts": "Parts of documents",
    "frames": "Frames, windows and dialogs",
    "chance": "Clock, chance and workers",
}
"""Names of the pages, which are also those of their scripts, and their titles."""

_RUN = ("run",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One feature of a page, and how to drive it.

    Clicking ``#{name}-{step}`` for each step, in order, ends in ``#{name}-result[data-state=done]``.
    """

    name: str
    page: str
    title: str
    steps: tuple[str, ...] = _RUN
    """Buttons; ``link`` is a link or a submit button among the controls. None: it runs by itself when loaded."""
    controls: str = ""
    """HTML before the buttons."""
    takes_file: bool = False
    """A file must be chosen in ``#{name}-file`` first."""
    downloads: bool = False
    """The last step downloads a file."""
    leaves: bool = False
    """The last step leads to another document of the same window, which has the result."""
    opens: bool = False
    """The last step opens another window."""
    dialogs: tuple[str | None, ...] = ()
    """How the dialog of each step is answered: a text, ``None`` to dismiss."""
    races: bool = False
    """The result depends on the order in which responses arrive, which a live site does not repeat under load."""
    patience_ms: float = 5_000.0
    """Page time within which the last step is done."""


_SOCKETS = (
    Item(name="ws-echo", page="sockets", title="Echo, each text after the answer to the one before"),
    Item(name="ws-several", page="sockets", title="Three sockets that answer at different speeds"),
    Item(name="ws-turns", page="sockets", title="One, two, three frames after each frame of the page"),
    Item(name="ws-push", page="sockets", title="Five frames that nobody asked for"),
    Item(name="ws-binary", page="sockets", title="Bytes both ways, as buffer and as blob"),
    Item(name="ws-close", page="sockets", title="The site closes with a code and a reason"),
    Item(name="ws-reconnect", page="sockets", title="Connect again after the end, with other frames"),
    Item(name="ws-subprotocol", page="sockets", title="Agree on a sub-protocol"),
    Item(name="ws-refused", page="sockets", title="A handshake that is refused"),
    Item(
        name="ws-notify",
        page="sockets",
        title="A frame that comes after the third action",
        steps=("run", "first", "second", "third"),
    ),
    Item(name="sse-messages", page="sockets", title="Three events at once, with ids and names"),
    Item(name="sse-action", page="sockets", title="An event caused by a later action", steps=("run", "act")),
    Item(name="sse-resume", page="sockets", title="The stream ends and is resumed after the last id"),
)

_EXCHANGES = (
    Item(name="at-load", page="exchanges", title="Fetches at load that run into each other", steps=()),
    Item(name="methods", page="exchanges", title="PUT, PATCH, DELETE and what they change"),
    Item(name="graphql", page="exchanges", title="Queries on one URL, one repeated with another answer"),
    Item(name="polling", page="exchanges", title="Ask every 200 ms until it is done"),
    Item(name="cache-buster", page="exchanges", title="The time in the query"),
    Item(name="negotiation", page="exchanges", title="One URL, three kinds of answer"),
    Item(name="preflight", page="exchanges", title="PUT with a header of its own to another origin"),
    Item(name="cors-closed", page="exchanges", title="Another origin that does not allow it"),
    Item(name="parallel", page="exchanges", title="Six fetches at once, shown on arrival"),
    Item(name="aborted", page="exchanges", title="A fetch that is given up"),
    Item(name="broken", page="exchanges", title="The connection closes without an answer"),
    Item(name="never", page="exchanges", title="An answer that never comes"),
    Item(name="no-content", page="exchanges", title="204"),
    Item(name="not-modified", page="exchanges", title="304 for If-None-Match, then another version"),
    Item(name="head", page="exchanges", title="HEAD"),
    Item(name="sync-xhr", page="exchanges", title="A synchronous XMLHttpRequest"),
    Item(name="xhr-events", page="exchanges", title="The events of an XMLHttpRequest"),
    Item(name="beacon", page="exchanges", title="sendBeacon"),
)

_BODIES = (
    Item(name="stream-chunks", page="bodies", title="A body read chunk by chunk"),
    Item(name="stream-ndjson", page="bodies", title="One JSON document a line"),
    Item(name="binary", page="bodies", title="Bytes up and down"),
    Item(name="encoded", page="bodies", title="Bodies that are zipped"),
    Item(name="ranges", page="bodies", title="Parts of 20 kB"),
    Item(name="cookies", page="bodies", title="Four cookies on one answer"),
    Item(name="cookie-on-redirect", page="bodies", title="Cookies on a redirect"),
    Item(name="redirect-fetch", page="bodies", title="POST over 307"),
    Item(name="redirect-image", page="bodies", title="A picture over 301"),
    Item(
        name="redirect-document",
        page="bodies",
        title="A document over 302 and 302",
        steps=("link",),
        controls='<a id="redirect-document-link" href="/redirect/document/1">go</a>',
        leaves=True,
    ),
    Item(
        name="redirect-post",
        page="bodies",
        title="A form answered by 303",
        steps=("link",),
        controls='<form method="post" action="/redirect/form"><input name="who" value="Ada &amp; Bob">'
        '<input type="hidden" name="kind" value="plain"><button id="redirect-post-link">send</button></form>',
        leaves=True,
    ),
    Item(
        name="upload-form",
        page="bodies",
        title="A file in a form",
        steps=("link",),
        controls='<form method="post" action="/upload/form" enctype="multipart/form-data">'
        '<input name="note" value="with note"><input type="file" name="file" id="upload-form-file">'
        '<button id="upload-form-link">upload</button></form>',
        takes_file=True,
        leaves=True,
    ),
    Item(name="upload-fetch", page="bodies", title="A file made by a script, as FormData"),
    Item(
        name="download-link",
        page="bodies",
        title="A file by link",
        steps=("link",),
        controls='<a id="download-link-link" href="/download/blob.bin">download</a>',
        downloads=True,
    ),
    Item(
        name="download-named",
        page="bodies",
        title="A link that says that it downloads",
        controls='<a id="download-named-link" href="/bytes/gzip" download="named.txt">download</a>',
        steps=("link",),
        downloads=True,
    ),
    Item(name="download-blob", page="bodies", title="A file made by a script", downloads=True),
)

_PARTS = (
    Item(name="images", page="parts", title="Six pictures at once, shown on arrival", races=True),
    Item(name="image-missing", page="parts", title="A picture that is not there"),
    Item(name="image-pixels", page="parts", title="The pixels of a picture"),
    Item(name="font", page="parts", title="The width of a text before and after its font"),
    Item(
        name="style-import",
        page="parts",
        title="A style sheet that imports another",
        controls='<p class="styled">styled</p>',
    ),
    Item(name="background", page="parts", title="A background picture", controls='<p class="plain">pictured</p>'),
    Item(name="scripts", page="parts", title="Inserted scripts, run on arrival", races=True),
    Item(name="document-write", page="parts", title="A script written into the document"),
    Item(name="dynamic-import", page="parts", title="import() of a module that imports another"),
    Item(name="modulepreload", page="parts", title="A module that was loaded ahead"),
)

_FRAMES = (
    Item(name="frame-same", page="frames", title="A frame of this origin"),
    Item(name="frame-other", page="frames", title="A frame of another origin"),
    Item(name="frame-srcdoc", page="frames", title="A frame without a request, which makes one"),
    Item(name="popup", page="frames", title="window.open", opens=True),
    Item(
        name="popup-blank",
        page="frames",
        title="A link to a new window",
        steps=("link",),
        controls='<a id="popup-blank-link" href="/frame/blank" target="_blank">open</a>',
        opens=True,
    ),
    Item(
        name="dialogs",
        page="frames",
        title="alert, confirm, prompt",
        steps=("alert", "confirm", "prompt"),
        dialogs=("", None, "Ada"),
    ),
)

_CHANCE = (
    Item(name="timers", page="chance", title="Timeouts and intervals, some of no delay"),
    Item(name="recursive-timer", page="chance", title="A timer that sets itself again"),
    Item(name="frames-60", page="chance", title="Sixty animation frames"),
    Item(name="clock", page="chance", title="Date, performance.now and Intl"),
    Item(name="random", page="chance", title="Random numbers, UUIDs and bytes"),
    Item(name="worker-blob", page="chance", title="A worker from a blob"),
    Item(name="worker-data", page="chance", title="A worker from a data URL"),
    Item(name="worker-url", page="chance", title="A worker from a file"),
    Item(name="worker-module", page="chance", title="A worker that is a module"),
    Item(name="transition", page="chance", title="A CSS transition", controls='<p id="transition-box">box</p>'),
    Item(name="animation", page="chance", title="A CSS animation", controls='<p id="animation-box">box</p>'),
    Item(name="idle", page="chance", title="requestIdleCallback"),
    Item(name="channel", page="chance", title="A message channel, microtasks and timers"),
    Item(name="late", page="chance", title="A timeout of 20 seconds", patience_ms=25_000.0),
)

ITEMS = (*_SOCKETS, *_EXCHANGES, *_BODIES, *_PARTS, *_FRAMES, *_CHANCE)

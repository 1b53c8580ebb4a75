"""A server with the OpenAI API for chat completions, whose answers a test scripts beforehand."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.sites.loopback import LoopbackServer, QuietHandler, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHAT: Final = "/v1/chat/completions"


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """One answer of the server, byte by byte; `answer_text` and `answer_error` create common ones."""

    status: int = 200
    body: bytes
    hangs_up: bool = False
    """Whether the connection is closed in the middle of the body."""
    waits: threading.Event | None = None
    """An event that is awaited before anything is sent."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One received request."""

    body: dict[str, Any]
    headers: dict[str, str]
    """Headers by lower-case name."""

    @property
    def text(self) -> str:
        """Return the content of the last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass
class ModelServer:
    """The received requests and the scripted answers.

    Scripted answers are sent in order; without one the answer is `reply(asked)`, the last message in capitals.
    """

    url: str = ""
    """Base URL, for OPENAI_BASE_URL."""
    asked: list[Asked] = field(default_factory=list)
    script: list[Scripted] = field(default_factory=list)
    reply: Callable[[Asked], str] = field(default=lambda asked: asked.text.upper())
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_answer(self, asked: Asked) -> Scripted:
        """Store a request and return its answer."""
        with self._lock:
            self.asked.append(asked)
            return self.script.pop(0) if self.script else answer_text(self.reply(asked), asked)


def answer_text(text: str, asked: Asked | None = None) -> Scripted:
    """Return an answer with a text; tokens are words."""
    words = 0 if asked is None else sum(len(str(each["content"]).split()) for each in asked.body["messages"])
    return answer_json(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": f"{asked.body['model'] if asked else 'gpt-test'}-0001",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}},
            ],
            "usage": {
                "prompt_tokens": words,
                "completion_tokens": len(text.split()),
                "total_tokens": words + len(text.split()),
            },
        }
    )


def answer_error(status: int, message: str) -> Scripted:
    """Return an answer with an error, in the form of the API."""
    return answer_json({"error": {"message": message, "type": "error", "param": None, "code": None}}, status)


def answer_json(value: object, status: int = 200) -> Scripted:
    """Return an answer with any JSON."""
    return Scripted(status=status, body=json.dumps(value).encode())


@contextmanager
def serve_model(*script: Scripted) -> Iterator[ModelServer]:
    """Serve at `url` until the block ends."""
    model = ModelServer(script=list(script))

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name is the parent's
            if self.path != CHAT:
                self._send(answer_error(404, f"no such path: {self.path}"))
                return
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(
                model.next_answer(Asked(body=body, headers={name.lower(): text for name, text in self.headers.items()}))
            )

        def _send(self, answer: Scripted) -> None:
            if answer.waits is not None:
                answer.waits.wait()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body) * (2 if answer.hangs_up else 1)))
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = self.close_connection or answer.hangs_up

    with running(LoopbackServer(0, Handler)) as address:
        model.url = f"{address}/v1"
        yield model

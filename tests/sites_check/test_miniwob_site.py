"""The pages of miniwob and all their subresources are served on loopback."""

from __future__ import annotations

import re
from http import HTTPStatus

from tests.sites.miniwob_site import MINIWOB_TASKS, serve_miniwob
from tests.sites_check.visitor import Visitor

_LOADED = re.compile(r'(?:src|href)="(\.\./[^"]+)"')


def test_every_task_loads_only_files_that_are_there() -> None:
    """Styles and scripts of each page are served, with a content type that browsers accept."""
    with serve_miniwob() as url:
        visitor = Visitor(url)
        pages = {task: visitor.get(f"/miniwob/{task}.html") for task in MINIWOB_TASKS}
        loaded = {path[2:] for page in pages.values() for path in _LOADED.findall(page.text)}
        replies = {path: visitor.get(path) for path in sorted(loaded)}

    assert {page.status for page in pages.values()} == {HTTPStatus.OK}
    assert {path: reply.status for path, reply in replies.items() if reply.status != HTTPStatus.OK} == {}
    assert {reply.headers.get_content_type() for reply in replies.values()} == {"text/css", "text/javascript"}


def test_every_task_is_seeded_and_started_as_documented() -> None:
    """The script shared by all tasks still has the start cover, the seed and the reward."""
    with serve_miniwob() as url:
        script = Visitor(url).get("/core/core.js").text

    assert [
        word for word in ("'sync-task-cover'", "reward-last", "timer-countdown", "seedrandom") if word not in script
    ] == []

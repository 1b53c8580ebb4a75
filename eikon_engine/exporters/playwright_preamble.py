"""Everything above the test function of an exported module, docstring to fixtures, and its companion files."""

from __future__ import annotations

import ast
import hashlib
import mimetypes
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.playwright_values import placeholders_in, text_source
from eikon_engine.exporters.python_source import docstring_source, string_literal, value_source, wrap_line
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.text import pluralize
from eikon_engine.secrets.sources import ENVIRONMENT_PREFIX
from eikon_engine.trace.actions import DEFAULT_NAVIGATION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, ExtractDom, Note
from eikon_engine.trace.masks import ConsoleErrorPart, describe_mask
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.exporters.varying_parts import VaryingParts
    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.trace.actions import FileInput
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.execution import ExecutionTrace

CHECKED: Final = (
    "Checked: targets, field values, URLs, titles, dialogs, downloads, opened and closed pages, console errors, what "
    "was read and asserted, and new headings, messages, tables, lists and texts of elements with an id or test id."
)
NOT_CHECKED: Final = (
    "Not checked, although a replay compares it: other parts of documents, closed shadow roots, visibility of other "
    "elements, requests, responses and redirects, cookies and storage, screenshots, results of skills."
)


def module_docstring(
    trace: ExecutionTrace, omitted: tuple[str, ...], *, secrets: tuple[str, ...], files_folder: str
) -> str:
    """Write the docstring of the module."""
    day = f"{trace.started_at:%Y-%m-%d}"
    paragraphs = [
        f"Mission {trace.mission_id}: {trace.mission_text}",
        f"Exported by Eikon from a recording of {day}, for pytest-playwright. For another site: pytest --base-url URL.",
    ]
    if files_folder:
        paragraphs.append(f"Requires the folder {files_folder} next to it.")
    if secrets:
        paragraphs.append(f"Environment variables: {', '.join(ENVIRONMENT_PREFIX + each for each in secrets)}.")
    paragraphs += [CHECKED, NOT_CHECKED, "Not exported from the recording:", *(f"- {each}" for each in omitted)]
    return docstring_source(paragraphs)


def omitted_parts(trace: ExecutionTrace) -> Iterator[str]:
    """Yield what a Playwright test cannot express of a recording."""
    environment = trace.environment
    if environment is not None:
        began = datetime.fromtimestamp(environment.clock_start_ms / 1000, tz=UTC)
        yield f"clock: recorded at {began:%Y-%m-%d %H:%M} with a {environment.clock} clock; the test uses real time"
        yield f"randomness: recorded with the seed {environment.random_seed}; the test uses real randomness"
        if environment.cpu_count is not None or environment.device_memory_gb is not None:
            yield "machine: the recorded number of processors and size of memory are not emulated"
    if trace.network is not None:
        rules = sum(not isinstance(rule, ResponseValueRule) for rule in trace.network.rules)
        yield f"network: recorded responses{f' and {rules} rules' if rules else ''} are not used"
    if trace.start.session_storage is not None:
        yield "session storage: the test starts without it"
    for mask in trace.masks:
        yield f"mask {describe_mask(mask)}"
    yield from _omitted_steps(trace)


def _omitted_steps(trace: ExecutionTrace) -> Iterator[str]:
    for subgoal in trace.subgoal_traces:
        for skill in subgoal.skills_used:
            yield f"skill {skill.skill} in {subgoal.description!r} is not run"
        for tool in subgoal.tools_used:
            yield f"tool {tool.tool} in {subgoal.description!r} is not called"
        if subgoal.completions:
            yield f"{pluralize(len(subgoal.completions), 'completion')} in {subgoal.description!r}: not requested"
        for step in subgoal.actions_taken:
            if step.observation is not None and not step.observation.settled:
                yield f"observation of {step.id}: it has no baseline. Certify the bundle first."
            if isinstance(step.action, ExtractDom | Note):
                yield f"{step.action.type} in {subgoal.description!r}: it does not act on the page"


STORAGE_STATE: Final = "storage_state.json"


@dataclass(slots=True, kw_only=True)
class CompanionFiles:
    """Companion files of a test (mutable: uploads are added while it is written)."""

    read_file: Callable[[BlobRef], bytes]
    """Returns the content of a file of the bundle."""
    storage_state: str | None = None
    """Storage state as Playwright JSON; None if the mission started without."""
    uploads: dict[str, bytes] = field(default_factory=dict)
    """Uploaded files and long values by name."""

    def add_upload(self, file: FileInput) -> str:
        """Store an uploaded file and return the source of its `set_input_files` argument."""
        content = self.read_file(file.content)
        safe = safe_file_name(file.name, "upload")
        name = safe
        if name == STORAGE_STATE or self.uploads.get(name, content) != content:
            name = f"{hashlib.sha256(content).hexdigest()[:8]}_{PurePosixPath(safe).name}"
        self.uploads[name] = content
        path = f"FILES / {string_literal(name)}"
        if name == file.name and mimetypes.guess_type(name)[0] == file.mime_type:
            return path
        described = f'"name": {string_literal(file.name)}, "mimeType": {string_literal(file.mime_type)}'
        return f'{{{described}, "buffer": ({path}).read_bytes()}}'

    def add_value(self, content: BlobRef) -> str:
        """Store a long value that was read from a page and return the source of an expression for it."""
        name = f"value_{content.sha256[:12]}.json"
        self.uploads[name] = self.read_file(content)
        return f'json.loads((FILES / {string_literal(name)}).read_text(encoding="utf-8"))'


def file_contents(companions: CompanionFiles) -> dict[str, bytes]:
    """Return the contents of all files by name."""
    state = {} if companions.storage_state is None else {STORAGE_STATE: companions.storage_state.encode()}
    return {**state, **companions.uploads}


_WEBSOCKET_ERROR: Final = "WebSocket connection to "
"""Prefix of Chrome's WebSocket errors, which replays do not compare."""
_MIN_ERROR_START: Final = 12
"""Length of what precedes a varying part of an error; a shorter start would be that of other errors, too."""
_BASE_URL_FIXTURE: Final = '''

@pytest.fixture(scope="session")
def base_url(base_url: str | None) -> str:
    """Return the base URL of pytest, else the recorded one."""
    return (base_url or BASE_URL).rstrip("/")
'''
_CONTEXT_ARGS_FIXTURE: Final = '''

@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, object]{parameters}) -> dict[str, object]:
    """Use the recorded context options."""
{lines}
'''
_CONTEXT_FIXTURE: Final = f'''

@pytest.fixture
def context(context: BrowserContext) -> BrowserContext:
    """Use the timeouts of the mission, in milliseconds."""
    context.set_default_timeout({DEFAULT_TIMEOUT_MS:_.0f})
    context.set_default_navigation_timeout({DEFAULT_NAVIGATION_TIMEOUT_MS:_.0f})
    return context
'''
_ERRORS_FIXTURE: Final = '''

@pytest.fixture
def errors(context: BrowserContext) -> list[str]:
    """Collect console and page errors that were not recorded."""
    found: list[str] = []

    def note(text: str) -> None:
        if not text.startswith(KNOWN_ERRORS):
            found.append(text)

    context.on("console", lambda message: note(message.text) if message.type == "error" else None)
    context.on("weberror", lambda problem: note(f"{problem.error.name}: {problem.error.message}"))
    return found
'''
_STEP_HELPER: Final = '''

@contextmanager
def step(title: str) -> Iterator[None]:
    """Add the subgoal to the error of a failed step."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in step: {title}")
        raise
'''
_DIALOGS_HELPER: Final = '''

@contextmanager
def dialogs(context: BrowserContext, *answers: str | bool) -> Iterator[list[str]]:
    """Answer dialogs and collect their messages: a text or True accepts, False dismisses."""
    messages: list[str] = []

    def answer(dialog: Dialog) -> None:
        given = answers[len(messages)] if len(messages) < len(answers) else False
        messages.append(dialog.message)
        if isinstance(given, str):
            dialog.accept(given)
        elif given:
            dialog.accept()
        else:
            dialog.dismiss()

    context.on("dialog", answer)
    with context.expect_event("dialog", lambda _: len(messages) == len(answers)):
        yield messages
    context.remove_listener("dialog", answer)
'''
_READ_HELPER: Final = f'''

def assert_read(
    page: Page, read: Callable[[], object], expected: object, *, timeout: float = {DEFAULT_TIMEOUT_MS:_.0f}
) -> None:
    """Read until the value is the recorded one, for `timeout` milliseconds at most."""
    end = time.monotonic() + timeout / 1000
    while (found := read()) != expected and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert found == expected
'''


def write_preamble(
    trace: ExecutionTrace,
    companions: CompanionFiles,
    *,
    site: Site,
    used: set[str],
    files_folder: str,
    varying: VaryingParts,
) -> str:
    """Write everything between the docstring and the test; `used` are the names in the test."""
    context = _context_fixture(trace, companions, site)
    fixtures = [_BASE_URL_FIXTURE] if site.base else []
    fixtures += [
        context[0],
        _CONTEXT_FIXTURE,
        _ERRORS_FIXTURE,
        _STEP_HELPER,
        *([_DIALOGS_HELPER] if "dialogs" in used else []),
        *([_READ_HELPER] if "assert_read" in used else []),
    ]
    names = used | context[1] | ({"FILES"} if companions.storage_state is not None else set())
    constants: list[str] = []
    if site.base:
        constants += wrap_line(f"BASE_URL = {string_literal(site.base)}", "")
    if "FILES" in names:
        constants += wrap_line(f"FILES = Path(__file__).parent / {string_literal(files_folder)}", "")
    constants += ["KNOWN_ERRORS = (", *(f"    {each}," for each in _known_errors(trace, site, varying)), ")"]
    return "\n".join(("", *_imports(names), "", *constants, "".join(fixtures).rstrip("\n")))


def _imports(names: set[str]) -> Iterator[str]:
    """Yield the imports in isort order."""
    yield "from __future__ import annotations"
    yield ""
    modules = names | ({"time"} if "assert_read" in names else set())
    yield from (
        f"import {name}"
        for name in ("base64", "hashlib", "html", "json", "math", "os", "re", "time")
        if name in modules
    )
    yield f"from collections.abc import {'Callable, ' if 'assert_read' in names else ''}Iterator"
    yield f"from contextlib import contextmanager{', suppress' if 'suppress' in names else ''}"
    if "FILES" in names:
        yield "from pathlib import Path"
    coders = [name for name in ("quote", "quote_plus", "urlparse") if name in names]
    if coders:
        yield f"from urllib.parse import {', '.join(coders)}"
    yield ""
    yield "import pytest"
    expected = ["BrowserContext", *(["Dialog"] if "dialogs" in names else []), *(["Error"] if "Error" in names else [])]
    imported = [*expected, "Page", *(["expect"] if "expect" in names else [])]
    yield f"from playwright.sync_api import {', '.join(imported)}"


def _known_errors(trace: ExecutionTrace, site: Site, varying: VaryingParts) -> Iterator[str]:
    """Yield prefixes of the recorded errors, up to secrets, base URLs and what varies."""
    known = {_WEBSOCKET_ERROR: None}
    for subgoal in trace.subgoal_traces:
        for step in subgoal.actions_taken:
            seen = step.observation
            for text in (*seen.console_errors, *seen.page_errors) if seen is not None else ():
                cut = text.partition("{{eikon-secret:")[0]
                start = varying.fixed_start(cut)
                cut = start if len(start.strip()) >= _MIN_ERROR_START else cut
                known[cut.partition(site.base)[0] if site.base else cut] = None
    known |= {mask.part.prefix: None for mask in trace.masks if isinstance(mask.part, ConsoleErrorPart)}
    for text in known:
        yield string_literal(text[:100])


def _context_fixture(trace: ExecutionTrace, companions: CompanionFiles, site: Site) -> tuple[str, set[str]]:
    """Write the fixture with the context options, and return the names that it uses."""
    lines = ['"base_url": base_url'] if site.base else []
    lines += [f'"{name}": {value}' for name, value in _options(trace.environment)]
    before: list[str] = []
    state = companions.storage_state
    marks = placeholders_in(state or "")
    if state is not None and not marks:
        lines.append(f'"storage_state": FILES / "{STORAGE_STATE}"')
    elif state is not None:
        before.append(f'state = (FILES / "{STORAGE_STATE}").read_text(encoding="utf-8")')
        before += (
            f"state = state.replace({string_literal(each)}, json.dumps({text_source(each)})[1:-1])" for each in marks
        )
        lines.append('"storage_state": json.loads(state)')
    entries = ", ".join(("**browser_context_args", *lines))
    text = _CONTEXT_ARGS_FIXTURE.format(
        parameters=", base_url: str" if site.base else "",
        lines="\n".join(each for line in (*before, f"return {{{entries}}}") for each in wrap_line(line, "    ")),
    )
    return text, {each.id for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Name)}


def _options(environment: Environment | None) -> Iterator[tuple[str, str]]:
    """Yield the recorded context options that differ from Playwright's defaults."""
    if environment is None:
        return
    given: dict[str, object] = {
        "viewport": environment.viewport.model_dump(),
        "locale": environment.locale,
        "timezone_id": environment.timezone,
        "color_scheme": environment.color_scheme,
        "device_scale_factor": environment.device_scale_factor if environment.device_scale_factor != 1 else None,
        "is_mobile": environment.is_mobile or None,
        "has_touch": environment.has_touch or None,
        "user_agent": None if environment.browser_version in environment.user_agent else environment.user_agent or None,
        "reduced_motion": environment.reduced_motion if environment.reduced_motion != "no-preference" else None,
        "forced_colors": environment.forced_colors if environment.forced_colors != "none" else None,
        "permissions": list(environment.permissions) or None,
        "geolocation": environment.geolocation.model_dump() if environment.geolocation is not None else None,
    }
    yield from ((name, value_source(value)) for name, value in given.items() if value is not None)
    if environment.extra_http_headers:
        headers = (
            f"{string_literal(name)}: {text_source(value)}" for name, value in environment.extra_http_headers.items()
        )
        yield "extra_http_headers", f"{{{', '.join(headers)}}}"

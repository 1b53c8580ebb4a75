"""The closed union of actions: everything a mission can do to a page, wait for and assert.

An action is complete: it names its page, its target and every option that changes the result. Times are milliseconds
of page time. A text is either plain or a reference to a secret, never the secret itself.
"""

import re
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.models import DeferredAdapter, FileModel, FiniteJson
from eikon_engine.trace.rules import checked_pattern
from eikon_engine.trace.target import Identity, Target


class SelectorCondition(FileModel):
    """True when the target is in the given state."""

    kind: Literal["selector"] = "selector"
    target: Target
    state: Literal["attached", "detached", "visible", "hidden"] = "visible"


class UrlCondition(FileModel):
    """True when the URL of the page equals `url`; `*` matches any characters."""

    kind: Literal["url"] = "url"
    url: str
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document whose URL it is; that of the page without any."""


class LoadStateCondition(FileModel):
    """True when the document has reached the load state."""

    kind: Literal["load_state"] = "load_state"
    state: Literal["domcontentloaded", "load"] = "load"
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document."""


class FunctionCondition(FileModel):
    """True when a JavaScript expression, or the function it evaluates to, returns a truthy value."""

    kind: Literal["function"] = "function"
    expression: str
    """JavaScript expression, or a function that is called with the element, if there is a target, and `argument`."""
    argument: FiniteJson = None
    target: Target | None = None
    """None for a function that gets no element. The identity of the element is not recorded."""
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document, for functions without target."""


class RequestCondition(FileModel):
    """True when the page has sent a request."""

    kind: Literal["request"] = "request"
    method: str = Field(min_length=1)
    url: str = Field(min_length=1)
    """Compared as requests are matched: rules for values that change apply."""
    count: int = Field(default=1, ge=1)
    """Which of the equal ones was waited for, counted since the first of the `steps`."""
    steps: int = Field(default=0, ge=0)
    """How many of the steps before this one may have caused it: those that ran during the wait, and the one before."""


class ResponseCondition(FileModel):
    """True when the page has received a response with a status to a request."""

    kind: Literal["response"] = "response"
    method: str = Field(min_length=1)
    url: str = Field(min_length=1)
    """Compared as requests are matched: rules for values that change apply."""
    status: int
    count: int = Field(default=1, ge=1)
    """Which of the equal ones was waited for, counted since the first of the `steps`."""
    steps: int = Field(default=0, ge=0)
    """How many of the steps before this one may have caused it: those that ran during the wait, and the one before."""


class UrlMatcher(FileModel):
    """A pattern for URLs, as an agent gave it to Playwright; a relative one is resolved."""

    syntax: Literal["glob", "regex"]
    """Glob of Playwright, or regular expression of Python that is searched for in the URL."""
    text: str
    flags: str = Field(default="", pattern="^[aimsx]*$")
    """Flags of a regular expression, as in `(?im)`."""

    @model_validator(mode="after")
    def _check_text(self) -> Self:
        if self.syntax == "regex":
            checked_pattern(self.text, self.compiled_flags)
        elif _GLOB_WITH_GROUPS.fullmatch(self.escaped_glob) is None:
            message = (
                f"expected a glob of Playwright, got {self.text!r} (each {{ needs a }}, without another {{ between)"
            )
            raise ValueError(message)
        return self

    @property
    def compiled_flags(self) -> re.RegexFlag:
        """Flags of the regular expression, for `re`."""
        flags = re.NOFLAG
        for letter in self.flags:
            flags |= re.RegexFlag[letter.upper()]
        return flags

    @property
    def escaped_glob(self) -> str:
        """Text of a glob, in which references to variables and secrets have no other meaning."""
        return _REFERENCE.sub(lambda found: rf"\{{\{{{found[1]}\}}\}}", self.text)


_GLOB_WITH_GROUPS: Final = re.compile(r"(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\])*\})*\\?", re.DOTALL)
"""A glob as Playwright reads it: a backslash escapes the next character, and groups are not nested."""
_REFERENCE: Final = re.compile(r"\{\{([A-Za-z_][\w:|-]*)\}\}")


class UrlMatchCondition(FileModel):
    """True when the URL of the page matches a pattern; for waits that failed, whose URL in the end is not known."""

    kind: Literal["url_match"] = "url_match"
    matcher: UrlMatcher
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document whose URL it is."""


class TrafficCondition(FileModel):
    """True when the page has sent a request, or received a response, whose URL matches a pattern; for failed waits."""

    kind: Literal["traffic"] = "traffic"
    event: Literal["request", "response"]
    matcher: UrlMatcher
    count: int = Field(default=1, ge=1)
    """How many must have arrived during the wait: one more than just before it, which a replay may see later."""
    steps: int = Field(default=0, ge=0)
    """How many of the steps before this one may have caused it: those that ran during the wait, and the one before."""


Condition: TypeAlias = Annotated[
    SelectorCondition
    | UrlCondition
    | UrlMatchCondition
    | LoadStateCondition
    | FunctionCondition
    | RequestCondition
    | ResponseCondition
    | TrafficCondition,
    Field(discriminator="kind"),
]


class AssertVisible(FileModel):
    """Assert that the target is visible."""

    kind: Literal["visible"] = "visible"
    target: Target


class AssertText(FileModel):
    """Assert the text of the target, with white space collapsed."""

    kind: Literal["text"] = "text"
    target: Target
    text: str
    contains: bool = False


class AssertCount(FileModel):
    """Assert how many elements a selector matches."""

    kind: Literal["count"] = "count"
    target: Target
    count: int = Field(ge=0)


class AssertUrl(FileModel):
    """Assert the URL of the page; `*` matches any characters."""

    kind: Literal["url"] = "url"
    url: str


Expectation: TypeAlias = Annotated[AssertVisible | AssertText | AssertCount | AssertUrl, Field(discriminator="kind")]


DEFAULT_TIMEOUT_MS: Final = 5_000.0
"""For a target or condition, in page time."""
DEFAULT_NAVIGATION_TIMEOUT_MS: Final = 30_000.0
"""For a navigation, in wall time."""
UNBOUNDED_TIMEOUT_MS: Final = 300_000.0
"""For what was recorded without a timeout, since a replay must end."""


__all__ = [
    "Action", "AnswerDialog", "Assert", "AssertCount", "AssertText", "AssertUrl", "AssertVisible", "Blur", "Check",
    "Click", "Clip", "ClosePage", "Condition", "DispatchEvent", "DoubleClick", "Download", "Drag", "Drop", "DropData",
    "Evaluate", "Expect", "Expectation", "ExpectedText", "ExtractDom", "FileInput", "Fill", "Focus",
    "FunctionCondition", "GoBack", "GoForward", "Hover", "InsertText", "Key", "LoadState", "LoadStateCondition",
    "Modifier", "Mouse", "MouseButton", "Navigate", "Note", "OpenPage", "Point", "Press", "Read", "ReadKind",
    "ReadValue", "Reload", "RequestCondition", "ResponseCondition", "Screenshot", "Scroll", "ScrollIntoViewIfNeeded",
    "SecretRef", "SelectOption", "SelectText", "SelectorCondition", "SetInputFiles", "SetValue", "SetViewport",
    "SwitchPage", "Tap", "Text", "TouchscreenTap", "TrafficCondition", "TypeText", "Uncheck", "UrlCondition",
    "UrlMatchCondition", "UrlMatcher", "WaitFor", "is_forced",
]  # fmt: skip

LoadState: TypeAlias = Literal["commit", "domcontentloaded", "load"]
MouseButton: TypeAlias = Literal["left", "middle", "right"]
Modifier: TypeAlias = Literal["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]


class SecretRef(FileModel):
    """A reference to a secret, whose value is provided at replay and never written."""

    secret: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")


Text: TypeAlias = str | SecretRef


class Point(FileModel):
    """A position relative to the top left corner of an element, in CSS pixels."""

    x: float
    y: float


class Clip(FileModel):
    """A rectangle of a page, in CSS pixels from its top left corner or, without `full_page`, that of the viewport."""

    x: float
    y: float
    width: float = Field(gt=0)
    height: float = Field(gt=0)


class FileInput(FileModel):
    """A file for an upload field; its content is in the bundle."""

    name: str
    mime_type: str
    content: BlobRef
    last_modified_ms: int | None = Field(default=None, ge=0)
    """When the file was last changed, in Unix milliseconds; None if that is not known. A drop repeats it, and the page
    then gets the MIME type that belongs to the name."""

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.last_modified_ms is not None:
            self.require_file_name()
        return self

    def require_file_name(self) -> None:
        """Check that the name is that of a file, in no folder: it is written to disk where a drop repeats times.

        Raises:
            ValueError: it is none.
        """
        if self.name in {"", ".", ".."} or set(self.name) & {"/", "\0"}:
            message = f"expected a file name without folders, since last_modified_ms is given, got {self.name!r}"
            raise ValueError(message)


class _Action(FileModel):
    page: int = Field(default=0, ge=0)
    """Ordinal of the page in the order of opening."""
    timeout_ms: float = Field(default=DEFAULT_TIMEOUT_MS, gt=0)
    """Deadline for the target or the condition, in page time."""


class _TargetAction(_Action):
    target: Target


class _PositionAction(_TargetAction):
    position: Point | None = None


class _PointerAction(_PositionAction):
    modifiers: tuple[Modifier, ...] = ()


class _ForceableAction(_PositionAction):
    force: bool = False
    """Skip the actionability checks; if another element covers the target, that element is hit."""


class _ForceableFieldAction(_TargetAction):
    force: bool = False
    """Skip the actionability checks; the element may be hidden."""


class _NavigationAction(_Action):
    timeout_ms: float = Field(default=DEFAULT_NAVIGATION_TIMEOUT_MS, gt=0)
    wait_until: LoadState = "load"


class Navigate(_NavigationAction):
    """Load a URL."""

    type: Literal["navigate"] = "navigate"
    url: str = Field(min_length=1)
    referer: str | None = None


class GoBack(_NavigationAction):
    """Go one step back in the history of the page."""

    type: Literal["go_back"] = "go_back"


class GoForward(_NavigationAction):
    """Go one step forward in the history of the page."""

    type: Literal["go_forward"] = "go_forward"


class Reload(_NavigationAction):
    """Load the current document again."""

    type: Literal["reload"] = "reload"


class _ClickAction(_ForceableAction, _PointerAction):
    button: MouseButton = "left"
    delay_ms: float = Field(default=0.0, ge=0)
    """Page time for which the button is held, and between two clicks."""
    steps: int = Field(default=1, ge=1)
    """Number of intermediate `mousemove` events on the way to the element, the last one included."""


class Click(_ClickAction):
    """Press and release a mouse button on an element."""

    type: Literal["click"] = "click"
    click_count: int = Field(default=1, ge=1)
    """Number of clicks in a row, as in `MouseEvent.detail`; three select a paragraph."""


class DoubleClick(_ClickAction):
    """Click twice on an element."""

    type: Literal["double_click"] = "double_click"


class Hover(_ForceableAction, _PointerAction):
    """Move the pointer over an element."""

    type: Literal["hover"] = "hover"


class Tap(_ForceableAction, _PointerAction):
    """Tap an element on a touchscreen."""

    type: Literal["tap"] = "tap"


class TouchscreenTap(_Action):
    """Tap a position on a touchscreen."""

    type: Literal["touchscreen_tap"] = "touchscreen_tap"
    x: float
    """From the left edge of the viewport, in CSS pixels."""
    y: float
    under: Identity | None = None
    """The element at this position, in the main frame; it must be the same in a replay."""


class Fill(_ForceableFieldAction):
    """Set the value of a field in one step."""

    type: Literal["fill"] = "fill"
    text: Text


class TypeText(_TargetAction):
    """Type a text key by key into a field."""

    type: Literal["type"] = "type"
    text: Text
    delay_ms: float = Field(default=0.0, ge=0)
    """Page time for which each key is held."""


class Press(_Action):
    """Press a key or a chord, on a target or on the focused element."""

    type: Literal["press"] = "press"
    key: str = Field(min_length=1)
    target: Target | None = None
    delay_ms: float = Field(default=0.0, ge=0)
    """Page time for which the key is held."""


class SelectOption(_ForceableFieldAction):
    """Select options of a select box."""

    type: Literal["select_option"] = "select_option"
    by: Literal["value", "label", "index"] = "value"
    options: tuple[str, ...]


class Check(_ForceableAction):
    """Make sure a checkbox or radio button is checked."""

    type: Literal["check"] = "check"


class Uncheck(_ForceableAction):
    """Make sure a checkbox is not checked."""

    type: Literal["uncheck"] = "uncheck"


class SetValue(_TargetAction):
    """Set the value of a field by its kind: select the option with this value, or fill any other field.

    For recordings of other tools that do not record the kind of a field.
    """

    type: Literal["set_value"] = "set_value"
    text: Text


class Focus(_TargetAction):
    """Give an element the focus."""

    type: Literal["focus"] = "focus"


class Blur(_TargetAction):
    """Take the focus from an element."""

    type: Literal["blur"] = "blur"


class SelectText(_ForceableFieldAction):
    """Select the text of an element, and focus it."""

    type: Literal["select_text"] = "select_text"


class DispatchEvent(_TargetAction):
    """Dispatch a synthetic event to an element."""

    type: Literal["dispatch_event"] = "dispatch_event"
    event: str = Field(min_length=1)
    """Type of the event, such as `click`."""
    init: FiniteJson = None
    """Properties of the event."""


class Mouse(_Action):
    """Move the pointer to a position, and press, release, click or turn the wheel there."""

    type: Literal["mouse"] = "mouse"
    event: Literal["move", "down", "up", "click", "wheel"]
    x: float
    """From the left edge of the viewport, in CSS pixels."""
    y: float
    button: MouseButton = "left"
    click_count: int = Field(default=1, ge=1)
    delay_ms: float = Field(default=0.0, ge=0)
    """Page time for which a click holds the button, and between two clicks."""
    steps: int = Field(default=1, ge=1)
    """Number of intermediate `mousemove` events, the last one included."""
    dx: float = 0.0
    """How far the wheel is turned to the right, in CSS pixels."""
    dy: float = 0.0
    """How far the wheel is turned down."""
    under: Identity | None = None
    """The element at this position, in the main frame; on `down` and `click` it must be the same in a replay."""


class Key(_Action):
    """Press and hold a key, or release it; the focused element receives it."""

    type: Literal["key"] = "key"
    event: Literal["down", "up"]
    key: str = Field(min_length=1)


class InsertText(_Action):
    """Insert a text into the focused element, in one step or key by key."""

    type: Literal["insert_text"] = "insert_text"
    text: Text
    key_by_key: bool = False
    delay_ms: float = Field(default=0.0, ge=0)
    """Page time for which each key is held, if it is typed key by key."""


class SetInputFiles(_TargetAction):
    """Set the files of an upload field."""

    type: Literal["set_input_files"] = "set_input_files"
    files: tuple[FileInput, ...]


class Drag(_TargetAction):
    """Drag the target and drop it on another element of the same frame."""

    type: Literal["drag"] = "drag"
    to: Target
    position: Point | None = None
    """Point on the target where the drag starts; its centre if None."""
    to_position: Point | None = None
    """Point on the other element where it is dropped; its centre if None."""
    force: bool = False
    """Skip the actionability checks of both elements; others that cover them are hit."""
    steps: int = Field(default=1, ge=1)
    """Number of intermediate `mousemove` events, the last one included."""


class DropData(FileModel):
    """Data of a drop in one format."""

    mime_type: str
    value: Text


class Drop(_PositionAction):
    """Drop files or data from outside the page on an element."""

    type: Literal["drop"] = "drop"
    files: tuple[FileInput, ...] = ()
    data: tuple[DropData, ...] = ()

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if any(each.last_modified_ms is not None for each in self.files):
            for each in self.files:
                each.require_file_name()
        return self


class Scroll(_Action):
    """Scroll an element, or the page, by a distance in CSS pixels."""

    type: Literal["scroll"] = "scroll"
    target: Target | None = None
    dx: float = 0.0
    dy: float = 0.0


class ScrollIntoViewIfNeeded(_TargetAction):
    """Scroll until an element is in the viewport, unless it is."""

    type: Literal["scroll_into_view_if_needed"] = "scroll_into_view_if_needed"


class WaitFor(_Action):
    """Wait until a condition holds."""

    type: Literal["wait_for"] = "wait_for"
    condition: Condition
    elapsed_ms: float = Field(default=0.0, ge=0)
    """Page time from the beginning of the wait to that of the step; above `timeout_ms` if it timed out before."""


class AnswerDialog(_Action):
    """Set how the dialog opened by the next action is answered."""

    type: Literal["answer_dialog"] = "answer_dialog"
    accept: bool
    text: Text | None = None
    """Text entered into a prompt."""


class SwitchPage(_Action):
    """Bring a page to the front; wait for it to open."""

    type: Literal["switch_page"] = "switch_page"


class ClosePage(_Action):
    """Close a page."""

    type: Literal["close_page"] = "close_page"


class OpenPage(_Action):
    """Open an empty page with the ordinal `page`."""

    type: Literal["open_page"] = "open_page"


class SetViewport(_Action):
    """Resize a page, in CSS pixels."""

    type: Literal["set_viewport"] = "set_viewport"
    width: int = Field(gt=0)
    height: int = Field(gt=0)


class Download(_PointerAction):
    """Click an element that downloads a file."""

    type: Literal["download"] = "download"


class Screenshot(_Action):
    """Take a screenshot of the page, or of an element."""

    type: Literal["screenshot"] = "screenshot"
    full_page: bool = False
    clip: Clip | None = None
    """The part to show; None for all."""
    target: Target | None = None

    @model_validator(mode="after")
    def _check_extent(self) -> Self:
        if self.target is not None and (self.full_page or self.clip is not None):
            message = "a screenshot of a target shows the target; omit full_page and clip, or target"
            raise ValueError(message)
        return self


class ExtractDom(_Action):
    """Store the DOM of the page for a skill."""

    type: Literal["extract_dom"] = "extract_dom"


class Assert(_Action):
    """Check a condition of the page without waiting."""

    type: Literal["assert"] = "assert"
    expectation: Expectation


ReadKind: TypeAlias = Literal[
    "all_inner_texts",
    "all_text_contents",
    "aria_snapshot",
    "attribute",
    "content",
    "count",
    "inner_html",
    "inner_text",
    "input_value",
    "is_checked",
    "is_disabled",
    "is_editable",
    "is_enabled",
    "is_hidden",
    "is_visible",
    "text_content",
    "title",
]
"""What a read returns, by the name of Playwright's method; `attribute` is `get_attribute`."""


class ReadValue(FileModel):
    """What a read returned to the agent."""

    value: FiniteJson = None
    """None also for a long value, and for `undefined`. Values that JSON does not have are objects with one key, such as
    `{"$numberDouble": "NaN"}`: `$date`, `$url`, `$regularExpression` and `$error`. An object with such a key is in
    `$object`."""
    long: BlobRef | None = None
    """The JSON text of a value that is too long for the trace, in the `files` folder of the bundle."""


class Read(_Action):
    """Read something from the page; a replay must read the same value.

    A replay waits for the value, since the agent may have waited, too: up to `timeout_ms`, at most 5 s of page time.
    """

    type: Literal["read"] = "read"
    what: ReadKind
    target: Target | None = None
    """None for the whole document, as `title` and `content` read it. The identity of the element is not recorded."""
    name: str | None = None
    """Name of the attribute that is read."""
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document, for reads without target."""
    options: dict[str, FiniteJson] = Field(default_factory=dict)
    """Other arguments of Playwright's method, by its names."""
    value: ReadValue | None = None
    """What the agent got, the last time if `times` is above 1. None if it failed."""
    times: int = Field(default=1, ge=1)
    """How often the agent read this in a row. A replay reads until it gets the last value."""


class Evaluate(_Action):
    """Run a script of the agent in the page, exactly once unless it polls, and compare what it returns."""

    type: Literal["evaluate"] = "evaluate"
    expression: str
    """JavaScript expression, or a function that is called with the elements, if there is a target, and `argument`."""
    argument: FiniteJson = None
    target: Target | None = None
    all_matches: bool = False
    """Whether the function gets a list of all elements that the target matches, as with `evaluate_all`."""
    returns_handle: bool = False
    """Whether the agent got a handle of the result, which is not compared."""
    frames: tuple[str, ...] = ()
    """Selectors of the iframes that lead to the document, for scripts without target."""
    is_poll: bool = False
    """Whether the agent had run the same script just before. It may have waited for the value, so a replay runs the
    script until it returns the value: up to `timeout_ms`, at most 5 s of page time."""
    value: ReadValue | None = None
    """What the agent got. None if it cannot be represented, if it was a handle, or if the script failed."""


class ExpectedText(FileModel):
    """One expected text of an `expect` action; either `string` or `regex_source` is given."""

    string: str | None = None
    regex_source: str | None = None
    """Source of a JavaScript regular expression."""
    regex_flags: str | None = None
    match_substring: bool | None = None
    ignore_case: bool | None = None
    normalize_white_space: bool | None = None


class Expect(_Action):
    """Wait until an assertion of Playwright's `expect` holds, as the agent did; the browser evaluates it."""

    type: Literal["expect"] = "expect"
    expression: str
    """Playwright's name of the assertion, such as `to.have.text`."""
    target: Target | None = None
    """None for assertions about the page. The identity of the element is not recorded."""
    is_not: bool = False
    """Whether the assertion must not hold."""
    argument: FiniteJson = None
    """What the assertion is about: the name of the attribute or property."""
    texts: tuple[ExpectedText, ...] | None = None
    number: float | None = None
    expected: FiniteJson = None
    """Expected value of assertions that expect neither texts nor a number."""
    pseudo: str | None = None
    """Pseudo-element whose style is checked."""
    use_inner_text: bool | None = None
    received: ReadValue | None = None
    """What the page had instead, if the assertion failed."""


class Note(_Action):
    """A step that did nothing to the page, such as a wait that failed."""

    type: Literal["note"] = "note"
    text: str


Action: TypeAlias = Annotated[
    Navigate
    | GoBack
    | GoForward
    | Reload
    | Click
    | DoubleClick
    | Hover
    | Tap
    | TouchscreenTap
    | Fill
    | TypeText
    | Press
    | SelectOption
    | SetValue
    | Focus
    | Blur
    | SelectText
    | DispatchEvent
    | Mouse
    | Key
    | InsertText
    | Check
    | Uncheck
    | SetInputFiles
    | Drag
    | Drop
    | Scroll
    | ScrollIntoViewIfNeeded
    | WaitFor
    | AnswerDialog
    | SwitchPage
    | OpenPage
    | ClosePage
    | SetViewport
    | Download
    | Screenshot
    | ExtractDom
    | Assert
    | Read
    | Evaluate
    | Expect
    | Note,
    Field(discriminator="type"),
]
READING_ACTIONS: Final = (Expect, Read, WaitFor)
"""Actions that change no page."""
ACTION_ADAPTER: Final[DeferredAdapter[Action]] = DeferredAdapter(Action)
"""Reads an action of any type."""


def is_forced(action: Action) -> bool:
    """Return whether an action skips the actionability checks."""
    return isinstance(action, _ForceableAction | _ForceableFieldAction | Drag) and action.force

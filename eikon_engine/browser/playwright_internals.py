"""The private names of Playwright that we depend on, all of them in one place.

Playwright's client (`playwright/_impl`) has an object per context, page, frame and so on; the public classes of both
APIs wrap them. Recording an agent needs these client objects: their types, parents, connection and event loop. If an
update of Playwright renames one of them, this is the only module to change.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

ClientObject: TypeAlias = Any
"""An object of Playwright's client; it has no public type."""
Connection: TypeAlias = Any
"""A connection between a client and its driver; it has no public type."""
SendCall: TypeAlias = "Callable[[ClientObject, str, Any, dict[str, Any]], asyncio.Future[Any]]"
"""Sends a call: its object, method, parameters and options."""


def impl_of(wrapper: object) -> ClientObject:
    """Return the client object behind a wrapper of `playwright.sync_api` or `playwright.async_api`."""
    return cast("Any", wrapper)._impl_obj


def type_of(client_object: ClientObject) -> str:
    """Return the protocol class of a client object, such as `Frame`."""
    name: str = client_object._type
    return name


def parent_of(client_object: ClientObject) -> ClientObject | None:
    """Return the client object that owns another one; None for the root."""
    return client_object._parent


def object_of_channel(channel: object) -> ClientObject | None:
    """Return the client object behind a channel in the result of a call; None if it is no channel."""
    return getattr(channel, "_object", None)


def context_options(context: object) -> Mapping[str, Any]:
    """Return the options with which a wrapped context was created, under the names of the protocol."""
    options: Mapping[str, Any] = impl_of(context)._options
    return options


def is_synchronous(wrapper: object) -> bool:
    """Whether a wrapper belongs to `playwright.sync_api`."""
    return hasattr(wrapper, "_sync")


def run_synchronously(wrapper: object, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - the result of the work
    """Run a coroutine in the event loop behind a wrapper of `playwright.sync_api`, and return its result."""
    return cast("Any", wrapper)._sync(work)


def is_loop_closed(wrapper: object) -> bool:
    """Whether the event loop behind a wrapper is closed."""
    fiber = getattr(wrapper, "_dispatcher_fiber", None)
    return bool(cast("Any", wrapper)._loop.is_closed() or (fiber is not None and fiber.dead))


def run_while_connected(wrapper: object, work: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine in the event loop behind a wrapper of `playwright.sync_api`, unless its driver exits first."""
    from playwright.sync_api import Error

    if is_loop_closed(wrapper):
        work.close()
        return
    with suppress(Error):  # the driver exited meanwhile
        run_synchronously(wrapper, work)


REPEAT_S: Final = 0.05
"""Wall time after which a deferred interrupt is tried again: the event loop may have yielded to the agent's code."""


class DeferredInterrupts:
    """Defer `KeyboardInterrupt` until the event loop of the synchronous API is between two callbacks.

    An exception raised inside of a callback loses what the callback was about to pass on. If this is a message of the
    driver, the loop waits for it forever. A second Ctrl-C is not deferred, nor is one while the agent's own code runs.
    Does nothing for the asynchronous API, for an agent with its own handler of SIGINT, or outside the main thread.
    """

    def __init__(self, wrapper: object) -> None:
        """Install a handler of SIGINT; `restore` removes it."""
        self._loop = loop_of(wrapper)
        self._fiber = cast("Any", wrapper)._dispatcher_fiber
        """The greenlet that runs the loop; None for the asynchronous API."""
        self._current_greenlet = import_module("greenlet").getcurrent
        self._pending: asyncio.Handle | None = None
        self._repeat: threading.Timer | None = None
        self._is_repeated = False
        is_main = threading.current_thread() is threading.main_thread()
        is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._is_installed = self._fiber is not None and is_main and is_default
        if self._is_installed:
            signal.signal(signal.SIGINT, self._on_interrupt)

    def restore(self) -> None:
        """Restore Python's handler of SIGINT, unless the agent has installed its own.

        Raises:
            KeyboardInterrupt: one was deferred.
        """
        try:
            self._stop_repeating()
        finally:
            if self._is_installed and signal.getsignal(signal.SIGINT) == self._on_interrupt:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            self._is_installed = False
        if self._pending is not None:
            self._raise()

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        is_repeated, self._is_repeated = self._is_repeated, False
        if is_repeated and self._pending is None:
            return  # raised meanwhile
        if not self._is_installed or not self._is_in_callback() or (self._pending is not None and not is_repeated):
            self._raise()
        if is_repeated and self._current_greenlet() is not self._fiber:
            self._raise()  # a listener of the agent that takes its time
        if self._pending is None:
            self._pending = self._loop.call_soon_threadsafe(self._raise)
        self._repeat = threading.Timer(REPEAT_S, self._interrupt_again)
        self._repeat.daemon = True
        self._repeat.start()

    def _is_in_callback(self) -> bool:
        """Whether the loop runs: its greenlet, or one that a callback has created for a listener."""
        running = self._current_greenlet()
        while running is not None and running is not self._fiber:
            running = running.parent
        return running is not None

    def _interrupt_again(self) -> None:
        self._is_repeated = True
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _raise(self) -> None:
        self._stop_repeating()
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        raise KeyboardInterrupt

    def _stop_repeating(self) -> None:
        repeat, self._repeat = self._repeat, None
        if repeat is not None:
            repeat.cancel()
            repeat.join()


def loop_of(wrapper: object) -> asyncio.AbstractEventLoop:
    """Return the event loop behind a wrapper."""
    loop: asyncio.AbstractEventLoop = impl_of(wrapper)._loop
    return loop


class ContextHandle:
    """Wraps a context for use inside the event loop of its own client."""

    def __init__(self, context: ClientObject) -> None:
        """Wrap a client object."""
        self._impl_obj = context
        self._loop = context._loop
        self._dispatcher_fiber = context._dispatcher_fiber


async def add_selector_engine(context: object, name: str, source: str) -> None:
    """Add a selector engine to a context, for the world in which Playwright resolves selectors.

    `source` is a JavaScript expression. Documents in which Playwright resolved selectors before do not know the engine.
    """
    engine = {"name": name, "source": source, "contentScript": True}
    await impl_of(context)._channel.registerSelectorEngine(selectorEngine=engine, timeout=0)


def connection_of(wrapper: object) -> Connection:
    """Return the connection through which the calls of a wrapper are sent."""
    return impl_of(wrapper)._connection


def can_intercept(connection: Connection) -> bool:
    """Whether this version of Playwright sends all calls of a connection through one function."""
    return hasattr(connection, "send_message_to_server")


def sender_of(connection: Connection) -> SendCall:
    """Return the function through which a connection sends its calls."""
    send: SendCall = connection.send_message_to_server
    return send


def replace_sender(connection: Connection, send: SendCall) -> None:
    """Send the calls of a connection through another function."""
    connection.send_message_to_server = send


def has_sender(connection: Connection, send: SendCall) -> bool:
    """Whether a connection sends its calls through this function, which replaced its own."""
    return bool(vars(connection).get("send_message_to_server") == send)


WAIT_INFO: Final = "__waitInfo__"
"""Method of the messages that tell the driver that the client begins, or ends, to wait for an event."""
WaitDetail: TypeAlias = Literal["timeout", "frame", "pattern", "state", "result"]
NoteWait: TypeAlias = "Callable[[str, WaitDetail, Any], None]"
"""Called with the id of a wait, and its timeout in ms, its frame, the URL pattern or load state that it waits for, or
what it got."""
ANY_URL: Final = "**"
"""Pattern of a wait for any request or response."""
_CLIENT_PREDICATES: Final = frozenset({"playwright._impl.frame", "playwright._impl.page"})
_PREDICATE_VARIABLES: Final[Mapping[str, WaitDetail]] = {
    "url": "pattern",
    "url_or_predicate": "pattern",
    "state": "state",
    "wait_until": "state",
}
"""What the predicates of the client are made from."""
_wait_observers: WeakKeyDictionary[Connection, list[NoteWait]] = WeakKeyDictionary()


def observe_waits(connection: Connection, note: NoteWait) -> None:
    """Call `note` with what the messages about the waits of a connection do not contain."""
    _wait_observers.setdefault(connection, []).append(note)
    _wait_methods.replace()


def stop_observing_waits(connection: Connection, note: NoteWait) -> None:
    """Stop calling `note`; the classes of the client are as before once nothing is observed."""
    observers = _wait_observers.get(connection, [])
    if note in observers:
        observers.remove(note)
        _wait_methods.restore()


class _WaitMethods:
    """Methods of the client's classes that are replaced while waits are observed, by whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._replaced: dict[tuple[type, str], tuple[object, object]] = {}
        """Original and replacement of each method that is replaced now."""

    def replace(self) -> None:
        """Replace the methods, unless they are replaced already."""
        with self._lock:
            self._users += 1
            for (owner, name), make in _observed_wait_methods().items():
                current = vars(owner)[name]
                original, _ = self._replaced.get((owner, name), (current, None))
                if current is original:
                    observed = make(original)
                    self._replaced[owner, name] = original, observed
                    setattr(owner, name, observed)

    def restore(self) -> None:
        """Restore the methods if this was the last user, but none that something else has replaced since."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for (owner, name), (original, observed) in tuple(self._replaced.items()):
                if vars(owner)[name] is observed:
                    setattr(owner, name, original)
                    del self._replaced[owner, name]


_wait_methods = _WaitMethods()


def _observed_wait_methods() -> dict[tuple[type, str], Callable[[Any], object]]:
    """Return the methods that know of waits, each with what makes one of it that notifies the observers."""
    from playwright._impl.frame import Frame
    from playwright._impl.waiter import Waiter

    def observe_set_up(set_up: Any) -> object:  # noqa: ANN401 - has no public type
        def set_up_observed(self: Any, timeout: Any) -> Any:  # noqa: ANN401 - as above
            waiter = set_up(self, timeout)
            _notify(waiter, "frame", self)
            return waiter

        return set_up_observed

    def observe_timeout(reject_on_timeout: Any) -> object:  # noqa: ANN401 - as above
        def reject_on_timeout_observed(self: Any, timeout: Any, timeout_message: str) -> None:  # noqa: ANN401 - as above
            _notify(self, "timeout", timeout)
            reject_on_timeout(self, timeout, timeout_message)

        return reject_on_timeout_observed

    def observe_event(wait_for_event: Any) -> object:  # noqa: ANN401 - as above
        def wait_for_event_observed(self: Any, emitter: Any, event: str, predicate: Any = None) -> Any:  # noqa: ANN401 - as above
            waiting = wait_for_event(self, emitter, event, predicate)
            for name, value in _awaited_by(predicate):
                _notify(self, name, value)

            async def wait() -> Any:  # noqa: ANN401 - as above
                result = await waiting
                _notify(self, "result", result)
                return result

            return wait()

        return wait_for_event_observed

    return {
        (Frame, "_setup_navigation_waiter"): observe_set_up,
        (Waiter, "reject_on_timeout"): observe_timeout,
        (Waiter, "wait_for_event"): observe_event,
    }


def _notify(waiter: Any, name: WaitDetail, value: object) -> None:  # noqa: ANN401 - as above
    """Notify the observers of a wait's connection about it."""
    for note in tuple(_wait_observers.get(waiter._channel_owner._connection, ())):
        note(waiter._wait_id, name, value)


def _awaited_by(predicate: Any) -> Iterator[tuple[WaitDetail, object]]:  # noqa: ANN401 - as above
    """Yield the URL pattern and the load state that a predicate of the client compares with."""
    if predicate is None:
        yield "pattern", ANY_URL
    elif getattr(predicate, "__module__", "") in _CLIENT_PREDICATES:
        for variable, cell in zip(predicate.__code__.co_freevars, predicate.__closure__ or (), strict=True):
            if variable in _PREDICATE_VARIABLES:
                yield _PREDICATE_VARIABLES[variable], cell.cell_contents


def has_load_state(frame: ClientObject, state: str) -> bool:
    """Return whether the document of a frame has reached a load state."""
    return state in frame._load_states


def resolve_glob(base_url: str | None, glob: str) -> str:
    """Return a glob for whole URLs, as Playwright resolves it against the `baseURL` of a context."""
    from playwright._impl.isomorphic.url_match import resolve_glob_base

    return resolve_glob_base(base_url, glob)


def glob_matches(glob: str, url: str) -> bool:
    """Return whether Playwright matches a URL with a glob for whole URLs."""
    from playwright._impl.isomorphic.url_match import url_matches

    return url_matches(None, url, glob)


@contextmanager
def listener_error_kept(connection: Connection) -> Iterator[None]:
    """Keep a pending error of an agent's event listener for a later call; Playwright raises it from the next one."""
    kept, connection._error = connection._error, None
    try:
        yield
    finally:
        connection._error = connection._error or kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationFailure:
    """An assertion of Playwright's `expect` that does not hold."""

    message: str
    received: tuple[object] | None
    """What the page has instead; None if it has nothing to compare."""
    is_compared: bool
    """Whether the page was compared at all: not with an invalid or ambiguous selector."""


_ONE_CHECK_MS = 10
"""Timeout of an assertion that is checked once: with less, the driver arms timers in the past, and Node.js warns."""


async def check_expectation(
    place: object, expression: str, options: Mapping[str, Any], *, is_not: bool
) -> ExpectationFailure | None:
    """Check an assertion once, on a page or locator; None if it holds.

    `options` are those of the client, by their names in the protocol.
    """
    impl = impl_of(place)
    given = {**options, "isNot": is_not, "timeout": _ONE_CHECK_MS}
    main_frame = getattr(impl, "main_frame", None)
    if main_frame is not None:
        result = await main_frame._expect(None, expression, given, None)
    else:
        result = await impl._expect(expression, given, None)
    if result["matches"] != is_not:
        return None
    received = result.get("received")
    return ExpectationFailure(
        message=result.get("errorMessage") or "the assertion does not hold",
        received=None if received is None else (received.get("value"),),
        is_compared=received is not None or bool(result.get("timedOut")),
    )


def expectation_failure(error: Exception) -> ExpectationFailure | None:
    """Return why an assertion of an agent failed; None if the error has another cause."""
    details = getattr(error, "_details", None)
    if not isinstance(details, dict):
        return None
    received = details.get("received")
    value = (received or {}).get("value")
    return ExpectationFailure(
        message=details.get("customErrorMessage") or "the assertion does not hold",
        received=None if received is None else (None if value is None else parse_result(value),),
        is_compared=received is not None or bool(details.get("timedOut")),
    )


def parse_result(value: Any) -> object:  # noqa: ANN401 - has no public type
    """Return the Python value that an agent gets for a serialized one.

    Raises:
        ValueError: there is none, as for a date after the year 9999; the agent gets the same error.
    """
    from playwright._impl.js_handle import parse_result

    parsed: object = parse_result(value)
    return parsed


_driver_variables: ContextVar[Mapping[str, str] | None] = ContextVar("driver_variables", default=None)


@contextmanager
def driver_files_in(folder: Path, compile_cache: Path | None) -> Iterator[None]:
    """Let drivers that start in the block, and their browsers, keep their temporary files in a folder.

    With `compile_cache`, Node.js keeps the compiled code of the driver there:
    https://nodejs.org/api/module.html#module-compile-cache
    """
    _name_driver_folder(None)
    cache = {} if compile_cache is None else {"NODE_COMPILE_CACHE": str(compile_cache)}
    before = _driver_variables.set({**cache, **_temporary_files(folder)})
    try:
        yield
    finally:
        _driver_variables.reset(before)


def _temporary_files(folder: Path) -> Mapping[str, str]:
    return {"TMPDIR": str(folder)}


def place_driver_files(folder: Path) -> None:
    """Let all drivers that start in this process from now on, and their browsers, keep their temporary files there."""
    _name_driver_folder(folder)


def _name_driver_folder(default: Path | None) -> None:
    transport: Any = import_module("playwright._impl.transport")
    driver_environment = transport.get_driver_env
    if hasattr(driver_environment, "names_folder"):
        return

    ours = {} if default is None else _temporary_files(default)

    def named_environment() -> dict[str, str]:
        # a synchronous client starts in a context of its own
        return {**driver_environment(), **(_driver_variables.get() or ours)}

    named_environment.names_folder = True  # type: ignore[attr-defined] # marks it
    transport.get_driver_env = named_environment


def mapping_class() -> type:
    """Return the class that maps client objects to their wrappers."""
    from playwright._impl._impl_to_api_mapping import ImplToApiMapping

    return ImplToApiMapping


def async_wrapper_classes() -> Mapping[type, type]:
    """Return the classes of `playwright.async_api` by the class of the client object that they wrap."""
    import playwright.async_api  # noqa: F401 - registers the classes
    from playwright._impl._async_base import mapping

    return mapping._mapping


def replace_handler_wrapping(wrapper_class: Any, wrap: Callable[[object, Any], Any]) -> None:  # noqa: ANN401 - a class made at run time
    """Have the wrappers of a class prepare event listeners with `wrap`."""
    wrapper_class._wrap_handler = wrap


def add_instrumentation(create_listener: Callable[[], object]) -> None:
    """Add an instrumentation listener to every client that starts in this process from now on."""
    connection: Any = import_module("playwright._impl.connection")
    create = connection.create_instrumentation

    def create_with_listener() -> Any:  # noqa: ANN401 - has no public type
        instrumentation = create()
        instrumentation.add_listener(create_listener())
        return instrumentation

    connection.create_instrumentation = create_with_listener


def call_before_browser_closes(callback: Callable[[ClientObject], Awaitable[None]]) -> None:
    """Call `callback` with each context of a browser before the browser closes, in this process from now on."""
    from playwright._impl.browser import Browser

    close = Browser.close

    async def close_after_callback(self: Any, *values: Any, **named: Any) -> None:  # noqa: ANN401 - as above
        for context in tuple(self.contexts):
            await callback(context)
        await close(self, *values, **named)

    Browser.close = close_after_callback  # type: ignore[method-assign] # replaces it for this process


def call_before_playwright_stops(
    callback: Callable[[Connection, BaseException | None], Coroutine[Any, Any, None]],
) -> None:
    """Call `callback` with the connection of a client before it stops, in this process from now on.

    The second argument is the exception that leaves the block of the client.
    """
    from playwright.async_api._context_manager import PlaywrightContextManager as AsyncManager
    from playwright.sync_api._context_manager import PlaywrightContextManager as SyncManager

    sync_exit, async_exit = SyncManager.__exit__, AsyncManager.__aexit__

    def exit_after_callback(self: Any, *values: Any) -> None:  # noqa: ANN401 - as above
        try:
            if not self._exit_was_called and hasattr(self, "_playwright"):
                run_while_connected(self._playwright, callback(self._client._connection, _exception_in(values)))
        finally:
            sync_exit(self, *values)

    async def async_exit_after_callback(self: Any, *values: Any) -> None:  # noqa: ANN401 - as above
        try:
            if not self._exit_was_called and self._client is not None:
                await callback(self._client._connection, _exception_in(values))
        finally:
            await async_exit(self, *values)

    SyncManager.__exit__ = exit_after_callback  # type: ignore[method-assign] # replaces it for this process
    AsyncManager.__aexit__ = async_exit_after_callback  # type: ignore[method-assign] # replaces it for this process


def _exception_in(values: tuple[Any, ...]) -> BaseException | None:
    """Return the exception among the arguments of `__exit__`; `stop` passes none."""
    return values[1] if len(values) > 1 else None


def adjust_launches(adjust: Callable[[ClientObject, dict[str, Any]], None]) -> None:
    """Let `adjust` change the options of every browser launch in this process from now on."""
    from playwright._impl.browser_type import BrowserType

    launch = BrowserType.launch

    async def launch_adjusted(self: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
        adjust(self, named)
        return await launch(self, *values, **named)

    BrowserType.launch = launch_adjusted  # type: ignore[method-assign] # replaces it for this process

"""Access the objects of a Playwright client through private asynchronous wrappers.

A client has one public wrapper per object, of the API its owner uses. A view is a second wrapper, always of the
asynchronous API and stored separately. Its classes are those of `playwright.async_api` with their functions bound to a
mapping of ours (`playwright/_impl/_impl_to_api_mapping.py`).
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.playwright_internals import (
    async_wrapper_classes,
    impl_of,
    mapping_class,
    replace_handler_wrapping,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.async_api import BrowserContext, Page

IS_INTERNAL_CALL: Final[ContextVar[bool]] = ContextVar("eikon_ours", default=False)
"""Whether the calls being sent are internal rather than the agent's."""


@contextmanager
def internal_calls() -> Iterator[None]:
    """Mark calls sent inside the block as internal."""
    token = IS_INTERNAL_CALL.set(True)
    try:
        yield
    finally:
        IS_INTERNAL_CALL.reset(token)


VIEW_ATTRIBUTE: Final = "_eikon_view_"
"""Attribute of a client object that stores its view."""


class ClientViews:
    """Create views of client objects; each object has one view."""

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        """Prepare the classes; errors of our event listeners go to `on_error`, not to the agent."""
        self._mapping = _rebind_class(mapping_class(), _ReboundGlobals({"API_ATTR": VIEW_ATTRIBUTE}))()
        self._rebound = _ReboundGlobals({"mapping": self._mapping})
        self._on_error = on_error
        self._added: list[tuple[Any, str, Callable[..., Any]]] = []
        """The listeners that were added: client object, event and listener."""
        for impl_class, api_class in async_wrapper_classes().items():
            self._mapping.register(impl_class, self._view_class(api_class))

    def context(self, wrapper: object) -> BrowserContext:
        """Return the view of a context, whichever API its owner uses."""
        view: BrowserContext = self._mapping.from_impl(impl_of(wrapper))
        return view

    def page(self, impl: object) -> Page:
        """Return the view of a page."""
        view: Page = self._mapping.from_impl(impl)
        return view

    def remove_listeners(self) -> None:
        """Remove the listeners that were added through views: the client outlives the recording."""
        while self._added:
            client_object, event, listener = self._added.pop()
            client_object.remove_listener(event, listener)

    def _view_class(self, api_class: type) -> Any:  # noqa: ANN401 - a class made at run time
        def wrap_handler(_view: object, handler: Callable[..., Any] | str) -> Callable[..., Any] | str:
            return self._listener(handler) if callable(handler) else handler

        def on(view: object, event: str, f: Callable[..., Any]) -> None:
            client_object, listener = impl_of(view), self._listener(f)
            client_object.on(event, listener)
            self._added.append((client_object, event, listener))

        def once(view: object, event: str, f: Callable[..., Any]) -> None:
            client_object, listener = impl_of(view), self._listener(f)
            client_object.once(event, listener)
            self._added.append((client_object, event, listener))

        own = _rebind_class(api_class, self._rebound)
        own.on, own.once = on, once
        replace_handler_wrapping(own, wrap_handler)
        return own

    def _listener(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Pass views to an event listener, mark its calls as internal, and keep its errors from the client."""
        kinds = [parameter.kind for parameter in signature(handler).parameters.values()]
        taken = None if Parameter.VAR_POSITIONAL in kinds else len(kinds)

        def call_handler(*values: object) -> object:
            with internal_calls():
                try:
                    return handler(*map(self._mapping.from_maybe_impl, values[:taken]))
                except Exception as error:  # noqa: BLE001 - the agent continues; the error is recorded
                    self._on_error(error)
                    return None

        return call_handler


def _rebind_class(original: type, rebound: _ReboundGlobals) -> Any:  # noqa: ANN401 - a class made at run time
    """Return a subclass whose functions resolve some global names to other values."""
    namespace = {name: _rebind(value, rebound) for name, value in vars(original).items() if _has_code(value)}
    return type(original.__name__, (original,), namespace)


class _ReboundGlobals:
    """The global names of modules, some of them with other values; the functions of a module share them."""

    def __init__(self, names: dict[str, object]) -> None:
        self._names = names
        self._by_module: dict[int, dict[str, Any]] = {}

    def of(self, function: FunctionType) -> dict[str, Any]:
        module = id(function.__globals__)
        if module not in self._by_module:
            self._by_module[module] = {**function.__globals__, **self._names}
        return self._by_module[module]


def _has_code(value: object) -> bool:
    return isinstance(value, FunctionType | property)


def _rebind(value: Any, rebound: _ReboundGlobals) -> Any:  # noqa: ANN401 - a function or a property
    if isinstance(value, property):
        return property(*(each and _rebind(each, rebound) for each in (value.fget, value.fset, value.fdel)))
    copy = FunctionType(value.__code__, rebound.of(value), value.__name__, value.__defaults__, value.__closure__)
    copy.__kwdefaults__ = value.__kwdefaults__
    return copy

"""Look at the objects of somebody's Playwright client without touching what its user holds.

A client keeps one public wrapper for each of its objects, of the kind that its user drives: synchronous or not. A view
is one more wrapper, always of the asynchronous kind, and kept apart. Its classes are those of `playwright.async_api`,
their functions bound to a mapping of our own (`playwright/_impl/_impl_to_api_mapping.py`).
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.async_api import BrowserContext, Page

OURS: Final[ContextVar[bool]] = ContextVar("eikon_ours", default=False)
"""Whether what is being sent to the browser is ours, and not the user's."""


@contextmanager
def ours() -> Iterator[None]:
    """Mark what is sent inside the block as ours."""
    token = OURS.set(True)
    try:
        yield
    finally:
        OURS.reset(token)


KEPT_AS: Final = "_eikon_view_"
"""Attribute under which an object of the client keeps its view."""


class Views:
    """Make the views of the objects of clients; one object has one view."""

    def __init__(self, on_fault: Callable[[Exception], None]) -> None:
        """Prepare the classes; what a listener of ours raises goes to `on_fault`, not into the mission of the user."""
        import playwright.async_api  # noqa: F401 - registers the classes
        from playwright._impl import _async_base, _impl_to_api_mapping

        mapping_class = _bound_anew(_impl_to_api_mapping.ImplToApiMapping, {"API_ATTR": KEPT_AS})
        self._mapping = mapping_class()
        self._on_fault = on_fault
        for impl_class, api_class in _async_base.mapping._mapping.items():  # noqa: SLF001 - the seam of this module
            self._mapping.register(impl_class, self._view_class(api_class))

    def context(self, wrapper: object) -> BrowserContext:
        """Return the view of a context, whichever kind of wrapper its user holds."""
        view: BrowserContext = self._mapping.from_impl(impl_of(wrapper))
        return view

    def page(self, impl: object) -> Page:
        """Return the view of a page."""
        view: Page = self._mapping.from_impl(impl)
        return view

    def _view_class(self, api_class: type) -> Any:  # noqa: ANN401 - a class made at run time
        def wrap_handler(_view: object, handler: Callable[..., Any] | str) -> Callable[..., Any] | str:
            return self._listener(handler) if callable(handler) else handler

        own = _bound_anew(api_class, {"mapping": self._mapping})
        own._wrap_handler = wrap_handler  # noqa: SLF001 - every wrapper has it
        return own

    def _listener(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Give a listener as many views as it takes, mark what it sends as ours, keep its errors from the client."""
        kinds = [parameter.kind for parameter in signature(handler).parameters.values()]
        taken = None if Parameter.VAR_POSITIONAL in kinds else len(kinds)

        def hear(*values: object) -> object:
            with ours():
                try:
                    return handler(*map(self._mapping.from_maybe_impl, values[:taken]))
                except Exception as error:  # noqa: BLE001 - the user's mission goes on; the recording says what failed
                    self._on_fault(error)
                    return None

        return hear


def impl_of(wrapper: object) -> Any:  # noqa: ANN401 - the objects inside have no public types
    """Return the object inside a wrapper of `playwright.sync_api` or `playwright.async_api`."""
    return wrapper._impl_obj  # type: ignore[attr-defined] # noqa: SLF001 - the seam of this module


def _bound_anew(original: type, names: dict[str, object]) -> Any:  # noqa: ANN401 - a class made at run time
    """Return a subclass whose functions, those of the original, find other values under some global names."""
    namespace = {name: _rebound(value, names) for name, value in vars(original).items() if _has_code(value)}
    return type(original.__name__, (original,), namespace)


def _has_code(value: object) -> bool:
    return isinstance(value, FunctionType | property)


def _rebound(value: Any, names: dict[str, object]) -> Any:  # noqa: ANN401 - a function or a property
    if isinstance(value, property):
        return property(*(each and _rebound(each, names) for each in (value.fget, value.fset, value.fdel)))
    copy = FunctionType(
        value.__code__, {**value.__globals__, **names}, value.__name__, value.__defaults__, value.__closure__
    )
    copy.__kwdefaults__ = value.__kwdefaults__
    return copy

"""Dispatch each kind of action to the function that performs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from eikon_engine.browser.actions.conditions import check_assertion, wait_for
from eikon_engine.browser.actions.effect import ActionEffect, require_page
from eikon_engine.browser.actions.fields import (
    fill,
    press,
    scroll,
    scroll_into_view,
    select_option,
    select_text,
    set_input_files,
    set_value,
    type_text,
)
from eikon_engine.browser.actions.pages import (
    answer_dialog,
    close_page,
    go_through_history,
    navigate,
    open_page,
    reload,
    screenshot,
    set_viewport,
    switch_page,
)
from eikon_engine.browser.actions.pointer import click, download, drag, drop, hover, set_checked, tap
from eikon_engine.browser.actions.raw_input import (
    blur,
    dispatch_event,
    focus,
    insert_text,
    move_mouse,
    press_or_release_key,
    tap_touchscreen,
)
from eikon_engine.browser.actions.reads import evaluate, expect, read
from eikon_engine.trace import actions

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session

_NavigationAction: TypeAlias = actions.GoBack | actions.GoForward | actions.Navigate | actions.Reload
_PointerAction: TypeAlias = (
    actions.Click
    | actions.DoubleClick
    | actions.Hover
    | actions.Tap
    | actions.Check
    | actions.Uncheck
    | actions.Drag
    | actions.Drop
    | actions.Download
)
_FieldAction: TypeAlias = (
    actions.Fill
    | actions.TypeText
    | actions.Press
    | actions.SelectOption
    | actions.SetValue
    | actions.SetInputFiles
    | actions.SelectText
    | actions.Scroll
    | actions.ScrollIntoViewIfNeeded
)
_RawAction: TypeAlias = (
    actions.Blur
    | actions.DispatchEvent
    | actions.Focus
    | actions.InsertText
    | actions.Key
    | actions.Mouse
    | actions.TouchscreenTap
)
_PageAction: TypeAlias = (
    actions.AnswerDialog
    | actions.ClosePage
    | actions.OpenPage
    | actions.Screenshot
    | actions.SetViewport
    | actions.SwitchPage
)


async def perform(session: Session, action: actions.Action) -> ActionEffect:  # noqa: PLR0911 - one case a kind
    """Perform exactly one action, once.

    Raises:
        ActionError: it could not be performed exactly as specified.
        RequirementError: it types a secret that was not supplied.
    """
    match action:
        case actions.Navigate() | actions.Reload() | actions.GoBack() | actions.GoForward():
            return await _perform_navigation(session, action)
        case actions.WaitFor():
            return await wait_for(session, action)
        case actions.Assert():
            return await check_assertion(session, action)
        case actions.Read() | actions.Evaluate() | actions.Expect():
            return await _perform_read(session, action)
        case (
            actions.AnswerDialog()
            | actions.SwitchPage()
            | actions.OpenPage()
            | actions.ClosePage()
            | actions.SetViewport()
            | actions.Screenshot()
        ):
            return await _perform_on_page(session, action)
        case (
            actions.Blur()
            | actions.DispatchEvent()
            | actions.Focus()
            | actions.InsertText()
            | actions.Key()
            | actions.Mouse()
            | actions.TouchscreenTap()
        ):
            return await _perform_raw_input(session, action)
        case actions.ExtractDom() | actions.Note():
            require_page(session, action.page)
            return ActionEffect()
        case (
            actions.Fill()
            | actions.TypeText()
            | actions.Press()
            | actions.SelectOption()
            | actions.SetValue()
            | actions.SetInputFiles()
            | actions.SelectText()
            | actions.Scroll()
            | actions.ScrollIntoViewIfNeeded()
        ):
            return await _perform_on_field(session, action)
        case _:
            return await _perform_with_pointer(session, action)


async def _perform_navigation(session: Session, action: _NavigationAction) -> ActionEffect:
    match action:
        case actions.Navigate():
            return await navigate(session, action)
        case actions.Reload():
            return await reload(session, action)
        case actions.GoBack() | actions.GoForward():
            return await go_through_history(session, action)
        case _:
            assert_never(action)


async def _perform_read(session: Session, action: actions.Read | actions.Evaluate | actions.Expect) -> ActionEffect:
    match action:
        case actions.Read():
            return await read(session, action)
        case actions.Evaluate():
            return await evaluate(session, action)
        case actions.Expect():
            return await expect(session, action)
        case _:
            assert_never(action)


async def _perform_with_pointer(session: Session, action: _PointerAction) -> ActionEffect:  # noqa: PLR0911 - one case a kind
    match action:
        case actions.Click() | actions.DoubleClick():
            return await click(session, action)
        case actions.Hover():
            return await hover(session, action)
        case actions.Tap():
            return await tap(session, action)
        case actions.Check() | actions.Uncheck():
            return await set_checked(session, action)
        case actions.Drag():
            return await drag(session, action)
        case actions.Drop():
            return await drop(session, action)
        case actions.Download():
            return await download(session, action)
        case _:
            assert_never(action)


async def _perform_on_page(session: Session, action: _PageAction) -> ActionEffect:
    match action:
        case actions.AnswerDialog():
            return await answer_dialog(session, action)
        case actions.SwitchPage():
            return await switch_page(session, action)
        case actions.OpenPage():
            return await open_page(session, action)
        case actions.ClosePage():
            return await close_page(session, action)
        case actions.SetViewport():
            return await set_viewport(session, action)
        case actions.Screenshot():
            return await screenshot(session, action)
        case _:
            assert_never(action)


async def _perform_raw_input(session: Session, action: _RawAction) -> ActionEffect:  # noqa: PLR0911 - one case a kind
    match action:
        case actions.Blur():
            return await blur(session, action)
        case actions.DispatchEvent():
            return await dispatch_event(session, action)
        case actions.Focus():
            return await focus(session, action)
        case actions.InsertText():
            return await insert_text(session, action)
        case actions.Key():
            return await press_or_release_key(session, action)
        case actions.Mouse():
            return await move_mouse(session, action)
        case actions.TouchscreenTap():
            return await tap_touchscreen(session, action)
        case _:
            assert_never(action)


async def _perform_on_field(session: Session, action: _FieldAction) -> ActionEffect:  # noqa: PLR0911 - one case a kind
    match action:
        case actions.Fill():
            return await fill(session, action)
        case actions.TypeText():
            return await type_text(session, action)
        case actions.Press():
            return await press(session, action)
        case actions.SelectOption():
            return await select_option(session, action)
        case actions.SetValue():
            return await set_value(session, action)
        case actions.SetInputFiles():
            return await set_input_files(session, action)
        case actions.SelectText():
            return await select_text(session, action)
        case actions.Scroll():
            return await scroll(session, action)
        case actions.ScrollIntoViewIfNeeded():
            return await scroll_into_view(session, action)
        case _:
            assert_never(action)

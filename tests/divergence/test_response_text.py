"""What error pages and plain texts say, and which pages ask to sign in."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.response_text import (
    MAX_ERROR_LENGTH,
    find_error_text,
    find_sign_in_error,
    find_sign_in_form,
    is_only_status,
)

HTML, TEXT = "text/html", "text/plain"


@pytest.mark.parametrize(
    ("body", "media_type", "text"),
    [
        ("<h1>500 Internal Server Error</h1><p>No stock left. Call us.</p>", HTML, "No stock left."),
        ("<h1>Cannot open order 7</h1><p>Please try again.</p>", HTML, "Cannot open order 7"),
        ("<h1>Shop</h1><div class=error-page><p>Closed</p></div>", HTML, "Closed"),
        ("<h1>Shop</h1><div role=alert>The cart is\n empty!</div>", HTML, "The cart is empty!"),
        ("<div class=cookie-alert>We use cookies.</div><h1>Sorry</h1><p>Database is down.</p>", HTML, "Sorry"),
        ("<div class=cookie-alert>We use cookies.</div><p>Database is down.</p>", HTML, "Database is down."),
        ("<div class=message>3 new messages</div><p>Database is down.</p>", HTML, "Database is down."),
        ("<p>Try again.</p><div class=error>Database is down.</div>", HTML, "Database is down."),
        ("<div class=error>Wrong.</div><div role=alert>Database is down.</div>", HTML, "Database is down."),
        ("<nav><p>All orders</p></nav><footer><p>Made here</p></footer><div id=alert>Closed</div>", HTML, "Closed"),
        ("<title>502 Bad Gateway</title><center><h1>502 Bad Gateway</h1></center><hr>nginx", HTML, ""),
        ("<h1>Oops! Server Error</h1>", HTML, ""),
        ("Workflow engine is down", HTML, "Workflow engine is down"),
        (
            "<div hidden>No</div><p style='display: none'>No</p><p>Database is down.</p>",
            HTML,
            "Database is down.",
        ),
        ("version 1.2 is not supported. Update.", TEXT, "version 1.2 is not supported."),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'cart'\n", TEXT, "KeyError: 'cart'"),
        ("Service Unavailable", TEXT, ""),
        ('{"error": "no"}', TEXT, ""),
        ("<h1>No</h1>", "application/octet-stream", ""),
        ("", TEXT, ""),
    ],
)
def test_the_sentence_that_says_what_went_wrong_is_found(body: str, media_type: str, text: str) -> None:
    """It is the message of the page, else its first heading or paragraph that says more than the status."""
    assert find_error_text(body.encode(), media_type, b"<h1>Shop</h1><p>Welcome</p>") == text


def test_a_long_error_is_cut_between_words() -> None:
    """A text without the end of a sentence ends in an ellipsis."""
    found = find_error_text(b"word " * 200, TEXT)

    assert len(found) <= MAX_ERROR_LENGTH
    assert found.endswith("word…")


@pytest.mark.parametrize(
    ("body", "media_type", "title"),
    [
        ("<title>Log in</title><input name=p type='password'>", HTML, "Log in"),
        ("<INPUT TYPE=password>", HTML, "a password field"),
        ("<title>Log in</title><input type=text>", HTML, ""),
        ('"<input type=password>"', "application/json", ""),
        ("<dialog><form><input name=user><input type=password></form></dialog>", HTML, "a password field"),
        ("<form><input type=search></form><input name=user><input type=password>", HTML, "a password field"),
        ("<h2>New user</h2><form><input name=name><input type=email><input type=password></form>", HTML, ""),
        ("<h2>Change password</h2><form><input type=password><input type=password></form>", HTML, ""),
        ("<form><input name=user><input type=password autocomplete=new-password></form>", HTML, ""),
        ("<!doctype html><title>New user</title><form><input><input><input type=password></form>", HTML, ""),
    ],
)
def test_a_page_to_sign_in_has_one_password_field_and_one_other(body: str, media_type: str, title: str) -> None:
    """It is named by its title."""
    assert find_sign_in_form(body.encode(), media_type) == title


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("<h1>Sign in</h1><p role=alert>Wrong password. Try again.</p>", "Wrong password."),
        ("<h1>Sign in</h1><p role=alert></p><div class=form-error>Unknown user</div>", "Unknown user"),
        ("<h1>Sign in</h1><p>Welcome</p><p hidden role=alert>Wrong password</p>", ""),
    ],
)
def test_a_page_to_sign_in_says_why_it_was_refused(body: str, error: str) -> None:
    """Only in a message that the page shows: its heading is no error."""
    assert find_sign_in_error(body.encode()) == error


@pytest.mark.parametrize(
    ("text", "is_status"),
    [("404 Not Found", True), ("HTTP 500", True), ("Forbidden", True), ("Error", True), ("No such order", False)],
)
def test_a_text_of_the_status_alone_is_recognized(text: str, *, is_status: bool) -> None:
    """Such a text explains nothing."""
    assert is_only_status(text) == is_status

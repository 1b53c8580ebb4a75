"""The skill `detect_login_form`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import SkillError
from eikon_engine.skills import SkillInput
from eikon_engine.skills.detect_login_form import DetectLoginForm
from eikon_engine.skills.document import parse_document, selector_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.files.json_text import JsonValue


def forms(markup: str) -> list[dict[str, JsonValue]]:
    """Run the skill on markup and return the forms."""
    result = DetectLoginForm().run(SkillInput(html=markup, url="https://site.example/me"))
    assert isinstance(result, dict)
    found = result["forms"]
    assert isinstance(found, list)
    assert result["present"] is bool(found)
    return [form for form in found if isinstance(form, dict)]


def test_the_login_form_is_distinguished_from_all_others(stored_page: Callable[..., SkillInput]) -> None:
    """Search, sign-up, password-change and newsletter forms on the same page are omitted."""
    result = DetectLoginForm().run(stored_page("logins"))

    assert result == {
        "present": True,
        "forms": [
            {
                "action": "https://site.example/session",
                "method": "post",
                "username_selector": "#signin > label:nth-of-type(1) > input",
                "password_selector": "#signin > label:nth-of-type(2) > input",
                "submit_selector": "#signin > button:nth-of-type(2)",
                "confidence": "high",
                "signals": [
                    "one password field",
                    "username field",
                    "autocomplete=current-password",
                    "login wording",
                ],
            }
        ],
    }


def test_fields_without_a_form_inside_nested_shadow_roots(stored_page: Callable[..., SkillInput]) -> None:
    """Inputs in shadow roots are found without a form; a form in an inert template is not."""
    result = DetectLoginForm().run(stored_page("shadow_login"))

    path = "html > body > x-shell > x-login > div"
    assert result == {
        "present": True,
        "forms": [
            {
                "action": None,
                "method": None,
                "username_selector": f"{path} > input:nth-of-type(1)",
                "password_selector": f"{path} > input:nth-of-type(2)",
                "submit_selector": f"{path} > div > button",
                "confidence": "high",
                "signals": ["one password field", "username field", "login wording"],
            }
        ],
    }


def test_a_password_alone_gives_low_confidence() -> None:
    """A password field without login wording has low confidence."""
    (form,) = forms("<form><input type=password><button>Go</button></form>")

    assert (form["confidence"], form["username_selector"]) == ("low", None)
    assert (form["action"], form["method"]) == ("https://site.example/me", "get")


def test_a_first_step_that_asks_for_the_name_only() -> None:
    """A form with a declared user name and login wording is the first step of a login."""
    (form,) = forms("<form action=/login><input autocomplete=username><button>Next</button></form>")

    assert (form["confidence"], form["password_selector"]) == ("low", None)


def test_controls_belong_to_the_form_they_name() -> None:
    """The attribute `form` takes precedence over the position in the document."""
    (form,) = forms(
        "<form id=f action=/login method=post><input name=user></form>"
        "<input type=password form=f id=pw><button form=f id=go>Log in</button>"
    )

    assert (form["password_selector"], form["submit_selector"]) == ("#pw", "#go")


@pytest.mark.parametrize(
    "markup",
    [
        "",
        "<p>no form",
        "<form><input name=q><button>Search</button></form>",
        "<form><input name=u><input type=password autocomplete=new-password><button>Log in</button></form>",
        "<form><input name=u><input type=password><input type=password><button>Log in</button></form>",
        "<form><input name=u><input type=password><button>Sign up</button></form>",
        "<form><input type=email autocomplete=username><button>Subscribe</button></form>",
        "<template><form><input name=u><input type=password><button>Log in</button></form></template>",
    ],
)
def test_pages_without_a_login_form(markup: str) -> None:
    """An empty list is a valid result."""
    assert forms(markup) == []


def test_the_submit_button_is_not_the_one_that_shows_the_password() -> None:
    """Outside a form, a button with a login label is preferred to others."""
    (form,) = forms(
        "<div><input name=u><input type=password><button id=eye>Show</button>"
        "<button id=help>Help</button><button id=go>Anmelden</button></div>"
    )

    assert form["submit_selector"] == "#go"


def test_two_loose_logins_are_two_forms() -> None:
    """Password fields in different parts of a page belong to different logins."""
    part = "<div><input name=u><input type=password><button>Log in</button></div>"

    assert len(forms(part * 2)) == 2


def test_a_parameter_is_refused(stored_page: Callable[..., SkillInput]) -> None:
    """The skill accepts no parameters."""
    with pytest.raises(SkillError, match=r"unknown parameter 'selector'\. Known parameters: none"):
        DetectLoginForm().run(stored_page("logins", selector="form"))


@pytest.mark.parametrize("name", ["logins", "shadow_login", "shop_listing", "timetable", "two_tables", "broken"])
def test_the_path_of_an_element_matches_that_element_alone(stored_page: Callable[..., SkillInput], name: str) -> None:
    """Returned selectors match only their element."""
    document = parse_document(stored_page(name))

    for node in document.tree.css("body *"):
        if node.tag != "template":
            assert document.tree.css(selector_of(document, node, shadow_combinator=" > template > ")) == [node]

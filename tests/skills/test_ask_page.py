"""`ask_page`: one prompt for one page and question, and one answer validated by its schema."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from eikon_engine.errors import RequirementError, SkillError
from eikon_engine.files.json_text import JsonValue
from eikon_engine.llm import Completion, CompletionRequest
from eikon_engine.skills import SkillInput
from eikon_engine.skills.ask_page import AskPage
from tests.error_codes import has_code

HTML = "<title>Shop</title><main><p>Bananas<script>no</script></p><p>€ 1.99</p></main><footer>All rights</footer>"
SCHEMA: JsonValue = {"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}


@dataclass
class Known:
    """A model that returns one text and stores the requests."""

    text: str
    asked: list[CompletionRequest] = field(default_factory=list)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the text."""
        self.asked.append(request)
        return Completion(text=self.text)


def ask(client: Known | None, **parameters: JsonValue) -> JsonValue:
    """Ask about the page."""
    given = {"question": "What does it cost?", **parameters}
    return AskPage().run(SkillInput(html=HTML, url="https://shop.example/", parameters=given, completion_client=client))


def test_the_prompt_is_the_page_and_the_question_and_nothing_else() -> None:
    """The same page and question give the same prompt, so that a recorded answer is found."""
    client = Known(" € 1.99 ")

    first, second = ask(client), ask(client)

    assert first == second == {"answer": "€ 1.99", "cut": False}
    assert client.asked[0] == client.asked[1]
    assert client.asked[0].metric_id == "ask_page"
    assert client.asked[0].messages[1].content == (
        "Address: https://shop.example/\nTitle: Shop\nText of the page:\nBananas\n€ 1.99\nAll rights\n\n"
        "Question: What does it cost?"
    )


def test_a_part_of_the_page_can_be_shown_and_is_cut_openly() -> None:
    """The omitted part of a long page is noted in the prompt and in the output."""
    client = Known("x")

    assert ask(client, selector="main", limit=10) == {"answer": "x", "cut": True}
    assert "its first 10 characters:\nBananas\n€ \n" in client.asked[0].messages[1].content


@pytest.mark.parametrize("text", ['{"price": 1.99}', '```json\n{"price": 1.99}\n```'])
def test_an_answer_of_a_schema_is_json(text: str) -> None:
    """JSON is accepted plain or in a code fence."""
    assert ask(Known(text), answer_schema=SCHEMA) == {"answer": {"price": 1.99}, "cut": False}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It costs 1.99", "expected JSON as the answer, got 'It costs 1.99'"),
        ('{"price": "1.99"}', r"schema' at \$.price: '1.99' is not of type 'number'"),
        ('{"price": NaN}', "expected JSON as the answer"),
        ("{}", "'price' is a required property"),
        ("[" * 150 + "]" * 150, "the answer does not match 'answer_schema' at"),
    ],
)
def test_an_answer_of_another_form_is_refused(text: str, told: str) -> None:
    """An answer in another form than requested is not an output."""
    with pytest.raises(SkillError, match=told):
        ask(Known(text), answer_schema=SCHEMA)


@pytest.mark.parametrize("schema", [{"$ref": "http://127.0.0.1:9/schema.json"}, {"$ref": "#/nowhere"}])
def test_a_schema_leads_nowhere_else(schema: JsonValue) -> None:
    """A schema never causes a request."""
    with pytest.raises(SkillError, match="cannot be applied"):
        ask(Known("1"), answer_schema=schema)


@pytest.mark.parametrize("answer", ['"\\ud800"', "[" * 150 + "]" * 150])
def test_an_answer_that_no_file_can_hold_is_refused(answer: str) -> None:
    """Lone surrogates and excessive nesting are not an output."""
    with pytest.raises(SkillError):
        ask(Known(answer), answer_schema={})


def test_without_a_model_nothing_is_requested() -> None:
    """A missing client is an error with a remedy; an invalid schema is an error before any request."""
    with pytest.raises(RequirementError, match="Pass --debug-dir", check=has_code("model-client-missing")):
        ask(None)
    client = Known("x")
    with pytest.raises(SkillError, match="not a valid JSON Schema"):
        ask(client, answer_schema={"type": "nothing"})
    with pytest.raises(SkillError, match="parameter 'question'"):
        ask(client, question="")
    assert client.asked == []

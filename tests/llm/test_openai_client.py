from __future__ import annotations

import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import CompletionError, CompletionUnreachableError, RequirementError, UsageError
from eikon_engine.llm import Completion, OpenAIClient, TokenUsage
from tests.error_codes import has_code
from tests.llm.asking import files, never, opened, request
from tests.sites.model_server import Scripted, answer_error, answer_json, answer_text, serve_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.llm import CompletionClient
    from tests.sites.model_server import ModelServer

KEY = "key.of.mine/1234567890"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Serve a model."""
    with serve_model() as served:
        yield served


@pytest.fixture
def client(model: ModelServer) -> Iterator[OpenAIClient]:
    """Return a client of the served model."""
    with OpenAIClient(api_key=KEY, base_url=model.url, timeout_seconds=20) as asked:
        yield asked


def test_a_request_is_sent_unchanged(model: ModelServer, client: OpenAIClient) -> None:
    """Messages, model and parameters are in the body, the key in its header."""
    answer = client.complete(request("two words", model="gpt-test", parameters={"temperature": 0.5, "top_k": 3}))

    assert answer == Completion(
        text="TWO WORDS",
        model="gpt-test-0001",
        usage=TokenUsage(prompt_tokens=2, completion_tokens=2),
        finish_reason="stop",
    )
    (asked,) = model.asked
    assert asked.body == {
        "model": "gpt-test",
        "messages": [{"role": "user", "content": "two words"}],
        "temperature": 0.5,
        "top_k": 3,
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"


FAILURES = (
    (answer_error(400, "too long"), "completion-refused", "status 400: too long"),
    (answer_error(401, f"Incorrect API key provided: {KEY}."), "completion-refused", "provided: …; correct"),
    (answer_error(401, "bad key sk-se**********7890 given"), "completion-refused", "bad key … given"),
    (answer_error(404, "no such\nmodel\x1b"), "completion-refused", r"no such model\\x1b"),
    (answer_error(429, "slow down"), "completion-limited", "status 429: slow down"),
    (answer_error(500, "boom"), "completion-server", "status 500: boom"),
    (Scripted(status=503, body=b"<html>down</html>"), "completion-server", "status 503: <html>down</html>"),
    (Scripted(status=502, body=b""), "completion-server", "status 502: no reason given"),
    (Scripted(body=b"not json"), "completion-malformed", "not JSON"),
    (Scripted(body=b""), "completion-malformed", "not JSON"),
    (answer_json([]), "completion-malformed", "got a list"),
    (answer_json({}), "completion-malformed", "no choices"),
    (answer_json({"choices": [{}, {}]}), "completion-malformed", "2 choices instead of one"),
    (
        answer_json({"choices": [{"message": {"content": None}, "finish_reason": "tool_calls"}]}),
        "completion-malformed",
        r"a message without text \(finish_reason tool_calls\)",
    ),
    (Scripted(body=b'{"choices": [', hangs_up=True), "completion-unreachable", "closed the connection"),
)


@pytest.mark.parametrize(("answer", "code", "said"), FAILURES)
def test_every_failure_is_an_eikon_error_and_is_not_retried(
    model: ModelServer, client: OpenAIClient, answer: Scripted, code: str, said: str
) -> None:
    """No request is retried, and no message contains the key."""
    model.script = [answer]

    with pytest.raises(CompletionError, match=said, check=has_code(code)) as caught:
        client.complete(request(model="gpt-test"))

    assert len(model.asked) == 1
    assert KEY not in caught.value.message


def test_a_missing_response_times_out(model: ModelServer) -> None:
    """The deadline ends the request, which is not retried."""
    never = threading.Event()
    model.script = [Scripted(body=b"", waits=never)]
    try:
        with (
            OpenAIClient(api_key=KEY, base_url=model.url, timeout_seconds=0.2) as client,
            pytest.raises(CompletionError, match=r"within 0\.2 s", check=has_code("completion-timeout")),
        ):
            client.complete(request(model="gpt-test"))
        assert len(model.asked) == 1
    finally:
        never.set()


def test_an_unreachable_server_is_reported_with_its_address() -> None:
    """The address is shown without what may be a password."""
    with serve_model() as model:
        url = model.url.replace("http://", "http://user:pass@")
    with OpenAIClient(api_key=KEY, base_url=url) as client, pytest.raises(CompletionUnreachableError) as caught:
        client.complete(request(model="gpt-test"))

    assert caught.value.message.startswith(f"{model.url}: the server of gpt-test is unreachable")
    assert caught.value.exit_status == 69


def test_counts_and_names_that_are_odd_are_left_out(model: ModelServer, client: OpenAIClient) -> None:
    """Missing or malformed fields of almost compatible servers stay empty."""
    model.script = [
        answer_json({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "7", "extra": 1}})
    ]

    assert client.complete(request(model="m")) == Completion(text="x")


@pytest.mark.parametrize("name", ["messages", "model", "n", "stream", "stream_options"])
def test_a_field_set_by_the_client_is_rejected_as_parameter(
    client: OpenAIClient, model: ModelServer, name: str
) -> None:
    """Parameters that the client sets itself are rejected before a request is sent."""
    with pytest.raises(UsageError, match=f"parameter {name} is set by the client"):
        client.complete(request(model="m", parameters={name: 2}))
    assert model.asked == []


def test_the_environment_configures_the_client(model: ModelServer) -> None:
    """Key, address and model are read from variables."""
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "gpt-mine"}

    with OpenAIClient.from_environment(environ) as client:
        client.complete(request())

    assert model.asked[0].body["model"] == "gpt-mine"


def test_missing_configuration_is_named() -> None:
    """Each line names the variable."""
    with pytest.raises(RequirementError, match="OPENAI_API_KEY is not set", check=has_code("model-client-missing")):
        OpenAIClient.from_environment({})
    with pytest.raises(UsageError, match="OPENAI_BASE_URL: expected a URL"):
        OpenAIClient.from_environment({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "localhost:80"})
    with pytest.raises(RequirementError, match="printable", check=has_code("model-client-missing")):
        OpenAIClient.from_environment({"OPENAI_API_KEY": "schlüssel"})
    with (
        OpenAIClient(api_key=KEY) as client,
        pytest.raises(RequirementError, match="OPENAI_MODEL", check=has_code("model-client-missing")),
    ):
        client.complete(request())


def test_without_the_extra_the_error_names_the_package() -> None:
    """Importing the package does not require the library; a request does."""
    program = (
        "import sys; sys.modules['openai'] = None\n"
        "from eikon_engine.llm import EchoClient, OpenAIClient\n"
        "from eikon_engine.errors import EikonError\n"
        "try: OpenAIClient.from_environment({'OPENAI_API_KEY': 'k'})\n"
        "except EikonError as error: print(error.exit_status, error.message)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )

    assert done.stdout.startswith("78 missing: openai; run pip install ")


def test_the_key_is_in_no_file_and_no_traceback(tmp_path: Path, model: ModelServer, client: OpenAIClient) -> None:
    """The key is removed even where the server repeats it in an error."""
    model.script = [answer_text("fine"), answer_error(401, f"Authorization: Bearer {KEY} is no key")]
    with opened(tmp_path, lambda: client) as used:
        used.client.complete(request(model="m"))
        with pytest.raises(CompletionError, check=has_code("completion-refused")) as caught:
            used.client.complete(request(model="m"))

    shown = "".join(traceback.format_exception_only(caught.value)) + repr(client)
    assert KEY not in shown + "".join(path.read_text() for path in tmp_path.iterdir())
    assert len(files(tmp_path)) == 2


def test_captured_responses_replay_without_the_server(tmp_path: Path) -> None:
    """Captured answers and failures are replayed after the server is gone."""
    texts = ("a", "a", "b")
    with (
        serve_model(answer_text("first"), answer_error(429, "slow down")) as model,
        OpenAIClient(api_key=KEY, base_url=model.url) as client,
        opened(tmp_path, lambda: client) as used,
    ):
        captured = [_answer(used.client, text) for text in texts]
    with opened(tmp_path, never) as used:
        replayed = [_answer(used.client, text) for text in texts]

    assert replayed == captured
    assert [each[0] for each in captured] == ["first", "completion-limited", "B"]


def _answer(client: CompletionClient, text: str) -> tuple[str, str]:
    try:
        done = client.complete(request(text, model="m"))
    except CompletionError as error:
        return error.code, error.message
    return done.text, str(done.usage)


def test_the_library_is_loaded_before_the_first_call() -> None:
    """Its import takes seconds, which would count as the time of the step that calls a model first."""
    code = (
        "import sys; from eikon_engine.llm.openai_client import preload_library; "
        "assert 'openai' not in sys.modules; preload_library(); "
        "assert 'openai.resources.chat.completions' in sys.modules"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)

    assert done.returncode == 0, done.stderr

"""Bundles of strangers that try to read local files, reach services of this machine, or get hold of secrets."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from eikon_engine.browser.traffic import public_origins
from eikon_engine.browser.traffic.public_origins import PublicOrigins
from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.trace import trace_command
from eikon_engine.errors import RequirementError
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.secrets.sources import collect_bound_secrets
from eikon_engine.trace.actions import ACTION_ADAPTER
from eikon_engine.trace.bundle import bundle_without_files, open_bundle
from eikon_engine.trace.certificate import certificate_state
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.trace_file import write_trace
from tests.browser.pages import Answer, redirect, serve_pages
from tests.browser.test_public_origins import leads_to
from tests.commands import run_here
from tests.error_codes import has_code
from tests.loops import in_a_thread
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.test_replay_command import change_trace, copy_bundle
from tests.trace.trace_values import action, subgoal, trace

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from eikon_engine.trace.execution import ExecutionTrace
    from tests.browser.pages import PageSite

SECRET = "green leaves"
PLACEHOLDER = "{{eikon-secret:PASSWORD}}"
SHOP, EVIL = "https://shop.example/", "https://evil.example/"


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve pages on loopback, which count their visits."""
    with serve_pages() as site:
        yield site


def mission(*actions: dict[str, Any], **fields: object) -> ExecutionTrace:
    """Make a trace without a recorded network."""
    steps = [
        action(number, action=ACTION_ADAPTER.validate_json(json.dumps(each)))
        for number, each in enumerate(actions, start=1)
    ]
    return trace(subgoal_traces=(subgoal(actions_taken=tuple(steps)),), **fields)


def navigate(url: str) -> dict[str, Any]:
    """Make a navigation."""
    return {"type": "navigate", "url": url}


def fill(selector: str = "#password", frames: tuple[str, ...] = ()) -> dict[str, Any]:
    """Make a step that types the secret."""
    return {"type": "fill", "target": {"selector": selector, "frames": frames}, "text": {"secret": "PASSWORD"}}


def script(expression: str) -> dict[str, Any]:
    """Make a wait for a script."""
    return {"type": "wait_for", "condition": {"kind": "function", "expression": expression}}


def replay(made: ExecutionTrace, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Replay a trace with the command."""
    bundle = folder / "bundle"
    bundle.mkdir()
    write_trace(made, bundle / "trace.json")
    return run_here(replay_command, (bundle, "--artifacts-dir", folder / "run", *options), "eikon replay")


def outcome_of(folder: Path) -> ReplayOutcome:
    """Read the outcome of a replay."""
    return ReplayOutcome.model_validate_json((folder / "run" / "outcome.json").read_bytes())


# Navigations


@pytest.mark.parametrize("network", [(), ("--network", "live")], ids=["by default", "live"])
@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("file:///etc/hostname", "file"),
        ("FILE:///etc/hostname", "file"),
        ("\tfi\nle:///etc/hostname", "file"),
        ("view-source:file:///etc/hostname", "view-source"),
        ("chrome://version", "chrome"),
        ("javascript:fetch('http://127.0.0.1')", "javascript"),
        ("data:text/html,<script>1</script>", "data"),
        ("about:version", "about"),
        ("filesystem:https://shop.example/temporary/x", "filesystem"),
    ],
)
def test_a_navigation_that_leaves_the_web_is_refused(
    tmp_path: Path, url: str, scheme: str, network: tuple[str, ...]
) -> None:
    """Before a browser starts, and whatever serves the responses; the error names the step and the option."""
    done = replay(mission(navigate(SHOP), navigate(url)), tmp_path, *network)

    assert done.returncode == 78
    assert "(code scheme-not-allowed)" in done.stderr
    assert f"a2: expected a navigation to an http or https URL, got the scheme {scheme}:" in done.stderr
    assert f"--allow-scheme {scheme}" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_sealed_replay_refuses_it_too(tmp_path: Path) -> None:
    """Nothing could leave, but the page would show a local file, and so would the artifacts."""
    bundle = copy_bundle("shop_failing", tmp_path)
    change_trace(bundle, '"http://127.0.0.1:8642/"', '"file:///etc/hostname"')

    done = run_here(replay_command, (bundle, "--artifacts-dir", tmp_path / "run"), "eikon replay")

    assert done.returncode == 78
    assert "(code scheme-not-allowed)" in done.stderr


def test_a_recording_of_it_is_refused(tmp_path: Path) -> None:
    """`eikon record --trace` performs no such step either, and says how to remove it."""
    bundle = bundle_without_files(mission(navigate("file:///etc/hostname")))

    with pytest.raises(RequirementError, match="eikon trace delete", check=has_code("scheme-not-allowed")):
        in_a_thread(rerecord(bundle, tmp_path / "again", RecordOptions()))
    assert not (tmp_path / "again").exists()


def test_a_recording_of_a_variable_with_it_is_refused(tmp_path: Path) -> None:
    """What counts is the URL with the recorded values, as it would be performed."""
    hidden = mission(navigate("{{where}}"), variables={"where": "file:///etc/hostname"})

    with pytest.raises(RequirementError, match="got the scheme file:", check=has_code("scheme-not-allowed")):
        in_a_thread(rerecord(bundle_without_files(hidden), tmp_path / "again", RecordOptions()))


@pytest.mark.parametrize("name", ["/evil", "../evil", "a/b", "..", ""])
def test_a_dropped_file_is_written_nowhere_else(name: str) -> None:
    """A drop that repeats the time of one of its files writes all of them to disk."""
    content = {"sha256": "0" * 64, "size": 0}
    timed = {"name": "a.txt", "mime_type": "text/plain", "content": content, "last_modified_ms": 1}
    other = {"name": name, "mime_type": "text/plain", "content": content}
    drop = {"type": "drop", "target": {"selector": "h1"}}

    with pytest.raises(ValidationError, match="expected a file name without folders"):
        mission({**drop, "files": [timed, other]})
    mission({**drop, "files": [other]})  # the browser makes it


def test_no_redirect_leads_out_of_the_web(tmp_path: Path) -> None:
    """A recorded one is performed as a navigation; no browser follows such a redirect."""
    bundle = copy_bundle("shop_failing", tmp_path)
    index = bundle / "network" / "index.jsonl"
    first, _, rest = index.read_text(encoding="utf-8").partition("\n")
    exchange = json.loads(first)
    exchange["hops"] = [{"url": exchange["request"]["url"], "status": 302}]
    exchange["response"]["url"] = "file:///etc/hostname"
    index.write_text(f"{json.dumps(exchange)}\n{rest}", encoding="utf-8")

    done = run_here(replay_command, (bundle, "--artifacts-dir", tmp_path / "run"), "eikon replay")

    assert done.returncode == 65
    assert "expected redirects to end at an http or https URL, got file:///etc/hostname" in done.stderr


def test_a_scheme_is_allowed_by_its_name() -> None:
    """Only that one."""
    bundle = bundle_without_files(mission(navigate("data:text/html,x"), navigate("about:blank")))

    assert plan_replay(bundle, ReplayOptions(allow_schemes=("DATA",))).step_count == 2
    with pytest.raises(RequirementError, check=has_code("scheme-not-allowed")):
        plan_replay(bundle, ReplayOptions(allow_schemes=("file",)))


@pytest.mark.browser
def test_a_recording_of_a_data_url_is_certified(tmp_path: Path, chromium: Browser) -> None:
    """Its own mission went there; a replay of the bundle needs the permission even so."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as recorded:
        recorded.page.goto("data:text/html,<p>seen")

    bundle = open_bundle(tmp_path / "b")
    assert certificate_state(bundle.root, bundle.trace).status == "certified"
    with pytest.raises(RequirementError, check=has_code("scheme-not-allowed")):
        plan_replay(bundle, ReplayOptions())


# The network


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/",
        "http://127.1/",
        "http://localhost:3000/",
        "http://db.localhost/",
        "http://[::1]/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http:127.0.0.1",
        "http://2130706433/",
    ],
)
def test_a_trace_without_a_network_does_not_reach_this_machine(tmp_path: Path, url: str) -> None:
    """Nor a private network, without the user's word; the error says which that is."""
    done = replay(mission(navigate(SHOP), navigate(url)), tmp_path)

    assert done.returncode == 78
    assert "(code origin-not-public)" in done.stderr
    assert "--network live" in done.stderr
    assert not (tmp_path / "run").exists()


def test_the_user_may_let_it_reach_this_machine() -> None:
    """With the network mode, or with a base URL."""
    bundle = bundle_without_files(mission(navigate("http://127.0.0.1:8000/")))

    assert plan_replay(bundle, ReplayOptions(network="live")).permissions.origins is None
    moved = ReplayOptions(base_urls={"http://127.0.0.1:8000": "http://127.0.0.1:8001"})
    assert plan_replay(bundle, moved).permissions.origins is None


@pytest.mark.browser
def test_a_script_does_not_reach_a_service_of_this_machine(tmp_path: Path, site: PageSite) -> None:
    """It runs, its request is blocked and listed, and the replay is no pass."""
    send = f"() => {{ fetch('{site.url}/pay', {{method: 'POST', mode: 'no-cors', body: 'x'}}); return true }}"

    done = replay(mission(navigate("about:blank"), script(send)), tmp_path)

    assert done.returncode == 3, done.stderr
    assert site.asked == []
    assert "and reaches no site" in done.stderr
    outcome = outcome_of(tmp_path)
    assert [(each.method, each.target) for each in outcome.network.page_violations] == [("POST", f"{site.url}/pay")]
    assert any(f"blocked request: POST {site.url}/pay" in reason for reason in outcome.reasons)


@pytest.mark.browser
def test_a_live_replay_reaches_only_the_sites_that_it_navigates_to(
    tmp_path: Path, site: PageSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are announced; redirects, workers, sockets and pictures reach nothing else, and are listed."""
    with serve_pages() as service:
        page = f"""<img src=http://cdn.example/x.png><p id=here></p><script>
        new WebSocket('{service.url.replace("http", "ws")}/socket');
        new Worker(URL.createObjectURL(new Blob(["fetch('{service.url}/worker', {{mode: 'no-cors'}})"])));
        fetch('/away', {{mode: 'no-cors'}});</script>"""
        site.answers["/"] = Answer(body=page)
        site.answers["/away"] = redirect(f"{service.url}/redirected")
        monkeypatch.setattr(public_origins, "PublicOrigins", partial(PublicOrigins, connect=leads_to(site)))
        wait = {
            "type": "wait_for",
            "condition": {"kind": "selector", "target": {"selector": "#here"}, "state": "attached"},
        }

        done = replay(mission(navigate("http://shop.example/"), wait), tmp_path)

        assert done.returncode == 3, done.stderr
        assert service.asked == []
    assert site.paths()[0] == "GET /"
    assert {asked.header("host") for asked in site.asked} == {"shop.example"}
    assert "this replay is live, and reaches only http://shop.example" in done.stderr
    blocked = {each.target for each in outcome_of(tmp_path).network.page_violations}
    assert {"http://cdn.example/x.png", f"{service.url}/redirected", f"{service.url}/worker"} <= blocked
    assert service.url.removeprefix("http://") in blocked


def test_pages_get_no_recorded_permission() -> None:
    """A trace could have been given any; with the network mode, the user trusts it."""
    machine = Environment(browser_version="1", playwright_version="1", platform="here", clock_start_ms=0, random_seed=1)
    asking = mission(navigate(SHOP), environment=machine.model_copy(update={"permissions": ("camera",)}))

    ours, trusted = (plan_replay(bundle_without_files(asking), ReplayOptions(network=each)) for each in (None, "live"))

    assert "pages do not get the recorded permissions: camera" in ours.permissions.announcements
    granted = [plan.trace.environment and plan.trace.environment.permissions for plan in (ours, trusted)]
    assert granted == [(), ("camera",)]


# Secrets


def implied(*actions: dict[str, Any], **options: object) -> None:
    """Plan the replay of a trace without a network, with the secret."""
    chosen = ReplayOptions(secrets={"PASSWORD": SECRET}, **options)  # type: ignore[arg-type] # of the test
    plan_replay(bundle_without_files(mission(*actions)), chosen)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ((navigate(SHOP), fill(), navigate(EVIL)), "bind the secret with --secret PASSWORD@ORIGIN=…"),
        ((navigate(f"{SHOP}?{PLACEHOLDER}"),), "a1: the action has secret PASSWORD within a text"),
        ((navigate(SHOP), script(f"fetch('{PLACEHOLDER}')")), "a2: the action has secret PASSWORD within a text"),
    ],
)
def test_a_live_replay_without_a_network_gives_no_secret_away(
    actions: tuple[dict[str, Any], ...], message: str
) -> None:
    """What could reach another origin is refused before the replay starts."""
    with pytest.raises(RequirementError, check=has_code("secret-not-bound")) as caught:
        implied(*actions)

    assert message in caught.value.message
    assert "--network live" in caught.value.message
    assert SECRET not in caught.value.message


def test_a_script_may_not_carry_a_bound_secret_to_another_site() -> None:
    """It could read the field, and send the secret to the other origin that the replay may reach."""
    bound = {"secret_origins": {"PASSWORD": (SHOP,)}}
    steps = (navigate(SHOP), fill(), navigate(EVIL))
    implied(*steps, **bound)

    with pytest.raises(
        RequirementError, match="a4: the trace types secrets, runs scripts", check=has_code("secret-not-bound")
    ):
        implied(*steps, script("true"), **bound)


def test_a_secret_in_the_start_state_is_found(tmp_path: Path) -> None:
    """However it is written in the file."""
    made = mission(navigate(SHOP), start={"storage_state": "state.json"})
    write_trace(made, tmp_path / "trace.json")
    cookie = {"name": "a", "value": PLACEHOLDER, "domain": "evil.example", "path": "/"}
    text = json.dumps({"cookies": [cookie], "origins": []}).replace("eikon-secret", "eikon\\u002dsecret")
    (tmp_path / "state.json").write_text(text, encoding="utf-8")

    with pytest.raises(RequirementError, match="starts with secret PASSWORD", check=has_code("secret-not-bound")):
        plan_replay(open_bundle(tmp_path), ReplayOptions(secrets={"PASSWORD": SECRET}))


def test_a_secret_is_bound_to_the_only_origin_of_a_trace() -> None:
    """Which is announced; with a base URL, it is the origin of that."""
    bundle = bundle_without_files(mission(navigate("http://127.0.0.1:1/in"), fill()))
    options = {"secrets": {"PASSWORD": SECRET}}
    moved = ReplayOptions(base_urls={"http://127.0.0.1:1": SHOP}, **options)  # type: ignore[arg-type] # of the test

    permissions = plan_replay(bundle, moved).permissions

    assert permissions.secret_origins == {"PASSWORD": frozenset({"https://shop.example"})}
    assert permissions.announcements == ("secret PASSWORD is typed only into https://shop.example",)


def test_an_unbound_secret_is_announced() -> None:
    """With the network mode, the user has to know the origins of the trace."""
    bundle = bundle_without_files(mission(navigate(SHOP), fill(), navigate(EVIL)))

    permissions = plan_replay(bundle, ReplayOptions(network="live", secrets={"PASSWORD": SECRET})).permissions

    assert permissions.secret_origins == {}
    (announced,) = permissions.announcements
    assert "PASSWORD is bound to no origin" in announced
    assert "https://shop.example, https://evil.example" in announced


FORM = "<input id=password type=password autofocus><p id=shown></p>"
TYPED = [
    pytest.param((fill(),), id="fill"),
    pytest.param(({**fill(), "type": "type"},), id="type"),
    pytest.param(({**fill(), "type": "set_value"},), id="set value"),
    pytest.param(({"type": "insert_text", "text": {"secret": "PASSWORD"}},), id="insert text"),
    pytest.param(({**fill(), "text": f"{PLACEHOLDER}!"},), id="within a text"),
    pytest.param(({"type": "evaluate", "expression": f"fetch('/?{PLACEHOLDER}')"},), id="script"),
]


@pytest.mark.browser
@pytest.mark.parametrize("steps", TYPED)
def test_a_secret_is_not_typed_into_another_origin(
    tmp_path: Path, site: PageSite, steps: tuple[dict[str, Any], ...]
) -> None:
    """Also with `--network live`, the replay ends before the step; the secret is in no request and no file."""
    listen = "<script>addEventListener('input', event => fetch('/?' + encodeURIComponent(event.target.value)))</script>"
    path = site.put(FORM + listen).removeprefix(site.url)

    done = replay(
        mission(navigate(site.url + path), navigate(site.elsewhere + path), *steps),
        tmp_path,
        "--network", "live", "--secret", f"PASSWORD@{site.url}={SECRET}",
    )  # fmt: skip

    assert done.returncode == 78, done.stderr
    assert f"expected an origin that it is bound to ({site.url}), got {site.elsewhere}" in done.stderr
    assert "(code secret-not-bound)" in done.stderr
    assert not any("?" in asked.path for asked in site.asked)
    assert all(SECRET.encode() not in path.read_bytes() for path in (tmp_path / "run").rglob("*.*"))


@pytest.mark.browser
def test_a_page_cannot_lie_about_its_origin(tmp_path: Path, site: PageSite) -> None:
    """Whatever a script of ours asks, a page that has replaced `eval` may answer."""
    answer = f"text.includes('location.origin') ? () => {site.url!r} : own(text)"
    lie = f"<script>const own = eval; window.eval = text => {answer}</script>"
    path = site.put(FORM + lie).removeprefix(site.url)

    done = replay(
        mission(navigate(site.elsewhere + path), fill()),
        tmp_path,
        "--network", "live", "--secret", f"PASSWORD@{site.url}={SECRET}",
    )  # fmt: skip

    assert done.returncode == 78, done.stderr
    assert f"got {site.elsewhere}" in done.stderr


@pytest.mark.browser
def test_the_frame_of_a_field_counts(tmp_path: Path, site: PageSite) -> None:
    """A page of the bound origin may show a form of another one."""
    inner = site.put(FORM).replace("127.0.0.1", "localhost")
    outer = site.put(f"{FORM}<iframe src={inner}></iframe>")
    live = ("--network", "live", "--secret", f"PASSWORD@{site.url}={SECRET}")

    done = replay(mission(navigate(outer), fill(), fill(frames=("iframe",))), tmp_path, *live)

    assert done.returncode == 78, done.stderr
    assert [step.result.kind for each in outcome_of(tmp_path).subgoals for step in each.steps if step.result] == [
        "ok"
    ] * 2


@pytest.mark.browser
def test_a_dialog_of_another_origin_gets_no_secret(tmp_path: Path, site: PageSite) -> None:
    """The answer is armed on a page of the bound origin, and the prompt opens on the next page."""
    ask = "<script>fetch('/?' + encodeURIComponent(String(prompt('Who?'))))</script>"
    elsewhere = site.put(ask).replace("127.0.0.1", "localhost")
    armed = {"type": "answer_dialog", "accept": True, "text": {"secret": "PASSWORD"}}
    live = ("--network", "live", "--secret", f"PASSWORD@{site.url}={SECRET}")

    done = replay(mission(navigate(site.put("<p>in</p>")), armed, navigate(elsewhere)), tmp_path, *live)

    assert done.returncode == 3, done.stderr
    assert [asked.path for asked in site.asked if asked.path.startswith("/?")] == ["/?null"]


def test_a_secret_is_given_with_its_origins(tmp_path: Path) -> None:
    """As an option or in a file; values may have any characters."""
    file = tmp_path / "secrets"
    file.write_text("PIN@https://bank.example,http://localhost:3000=1@2=3\nUSER=me@mail.example\n", encoding="utf-8")

    found = collect_bound_secrets(["PASSWORD@https://shop.example/=a=b"], file, {})

    assert found.values == {"PIN": "1@2=3", "USER": "me@mail.example", "PASSWORD": "a=b"}
    assert found.origins == {
        "PIN": ("https://bank.example", "http://localhost:3000"),
        "PASSWORD": ("https://shop.example",),
    }


# What a trace holds


def test_the_scripts_of_a_trace_are_listed(tmp_path: Path) -> None:
    """With step, kind, size and first line, in escaped characters."""
    made = mission(
        navigate(SHOP),
        script("\n  () => fetch('\x1b[2J')\n"),
        {"type": "evaluate", "expression": "document.title"},
        navigate("javascript:alert(1)"),
    )
    write_trace(made, tmp_path / "trace.json")

    shown = run_here(trace_command, ("show", tmp_path), "eikon trace")

    lines = shown.stdout.splitlines()
    start = lines.index("scripts that run in pages: 3")
    assert lines[start + 1 : start + 4] == [
        "  a2  wait_for, 23 characters: () => fetch('\\x1b[2J')",
        "  a3  evaluate, 14 characters: document.title",
        "  a4  navigate, 19 characters: javascript:alert(1)",
    ]

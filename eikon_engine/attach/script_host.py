"""Run a script with all its browser contexts recorded: in a process of its own, started by `record_script`."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

from eikon_engine.attach.options import AttachOptions
from eikon_engine.attach.recording import Recording
from eikon_engine.attach.script_request import ScriptAnswer, ScriptRecorded, ScriptRequest
from eikon_engine.browser.attached.hooks import launch_with, meet_contexts
from eikon_engine.browser.attached.view import impl_of
from eikon_engine.browser.find import find_browser
from eikon_engine.record.recorder import describe_error


class ScriptHost:
    """Record each context that the script opens: the first into the folder asked for, others beside it."""

    def __init__(self, request: ScriptRequest) -> None:
        """Begin with none."""
        self._request = request
        self._open: dict[int, Recording] = {}
        self._texts: dict[int, str] = {}
        self._errors: dict[str, BaseException] = {}
        """What tests failed by, by their names."""
        self._tests: dict[int, str] = {}
        self.test: str = ""
        """The test that is running."""
        self.recorded: list[ScriptRecorded] = []
        self.refused: list[str] = []
        self._count = 0

    async def opened(self, wrapper: object) -> None:
        """Record a context from now on."""
        self._count += 1
        number = self._count
        folder = self._request.directory
        directory = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        text = self._request.mission_text or self.test or Path(self._request.script).name
        options = AttachOptions(
            secrets=self._request.secrets,
            redact=self._request.redact,
            redaction=self._request.redaction,
            certify=None,
        )
        recording = Recording(wrapper, text, directory, options)
        try:
            await recording.begin()
        except Exception as error:  # noqa: BLE001 - the script goes on without a recording
            self.refused.append(f"{directory}: {describe_error(error)}")
            return
        self._open[id(impl_of(wrapper))] = recording
        self._tests[id(recording)] = self.test
        self._texts[id(recording)] = text

    async def closing(self, impl: object) -> None:
        """Read what is still to be read of a context."""
        recording = self._open.get(id(impl))
        if recording is not None:
            await recording.let_go()

    def failed(self, test: str, error: BaseException) -> None:
        """Note that a test failed."""
        self._errors[test] = error

    def complete(self, error: BaseException | None) -> None:
        """Write the ends of all recordings; `error` is what the script ended by."""
        for recording in self._open.values():
            test = self._tests[id(recording)]
            try:
                recording.complete(self._errors.get(test) if test else error)
            except Exception as fault:  # noqa: BLE001 - the other recordings are completed all the same
                self.refused.append(f"{recording.directory}: {describe_error(fault)}")
                continue
            self.recorded.append(
                ScriptRecorded(
                    directory=recording.directory,
                    mission_text=self._texts[id(recording)],
                    secrets=dict(recording.secrets),
                )
            )


class _TestsWatched:
    """A plugin of pytest that tells which test runs, and how it failed."""

    def __init__(self, host: ScriptHost) -> None:
        self._host = host

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._host.test = nodeid

    def pytest_exception_interact(self, node: Any, call: Any) -> None:  # noqa: ANN401 - pytest is no dependency
        if hasattr(node, "nodeid"):
            self._host.failed(node.nodeid, call.excinfo.value)


def main() -> int:
    """Run what is asked for over the file descriptor named first, and answer over the second."""
    asked, answered = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(asked, "rb") as pipe:
        request = ScriptRequest.model_validate_json(pipe.read())
    host = ScriptHost(request)
    meet_contexts(host)
    launch_with(request.browser_path, lambda: find_browser(None, environ=os.environ).path)
    run = _run_tests if request.runner == "pytest" else _run_script
    error: BaseException | None = None
    try:
        return run(request, host)
    except BaseException as caught:
        error = caught
        raise
    finally:
        host.complete(error)
        answer = ScriptAnswer(recorded=tuple(host.recorded), refused=tuple(host.refused))
        with os.fdopen(answered, "wb") as pipe:
            pipe.write(answer.model_dump_json().encode())


def _run_script(request: ScriptRequest, _host: ScriptHost) -> int:
    script = Path(request.script)
    sys.argv = [request.script, *request.arguments]
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(request.script, run_name="__main__")
    return 0


def _run_tests(request: ScriptRequest, host: ScriptHost) -> int:
    import pytest  # noqa: PLC0415 - no dependency: whoever has tests has it

    sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` does
    return int(pytest.main([request.script, *request.arguments], plugins=[_TestsWatched(host)]))


if __name__ == "__main__":
    sys.exit(main())

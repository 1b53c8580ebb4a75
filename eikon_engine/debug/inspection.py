"""What can be seen where a session stands: the result of `inspect` and `locate`."""

from __future__ import annotations

from typing import Literal

from eikon_engine.outcome.divergence import Candidate, Divergence
from eikon_engine.outcome.outcomes import NetworkOutcome
from eikon_engine.trace.execution import Result
from eikon_engine.trace.observation import PageObservation
from eikon_engine.trace.record import FiniteJson, Record
from eikon_engine.trace.target import Identity


class ShownPage(Record):
    """One open page."""

    observation: PageObservation
    """With its snapshot, which lies in the `dom` folder of the session."""
    html: str
    """Path of its DOM as a document to look at, below the session."""


class ShownPicture(Record):
    """A picture of a page."""

    page: int
    path: str | None
    """Of a PNG, below the session; None if none could be taken."""
    problem: str | None = None
    """Why not."""


class ShownTarget(Record):
    """What the next action acts on."""

    role: Literal["target", "to", "condition"]
    """Its target; where a drag ends; what a condition or an assertion asks about, of which any number may match."""
    selector: str
    """With the frames that lead to it."""
    identity: Identity | None
    """The element that was hit when it was recorded."""
    count: int
    """How many elements match now."""
    matches: tuple[str, ...]
    """Descriptions of the first five."""
    problem: str | None = None
    """Why the target would not bind now; page time that passes while an action waits may change that."""
    candidates: tuple[Candidate, ...] | None = None
    """Elements like the recorded one, likeliest first, where it would not bind; None where none was recorded."""


class ShownStep(Record):
    """The step that comes next."""

    iteration: int
    """Its number."""
    id: str
    kind: Literal["action", "skill"]
    tool: str
    """Type of the action, or name of the skill."""
    label: str
    input: FiniteJson
    """The action as it stands in the trace, or the parameters of the skill."""
    subgoal: str
    """Id of the attempt."""
    page: int | None
    """Which it acts on; None for a skill, which works on a recorded document."""
    targets: tuple[ShownTarget, ...] = ()
    requests: tuple[str, ...] = ()
    """Keys of the requests that it made when it was recorded."""
    expected: Result


class ShownItem(Record):
    """One thing that the browser keeps for a site."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str
    """Without secrets."""
    page: int | None


class ShownMessage(Record):
    """One message of the console, or an error that nobody caught."""

    page: int
    kind: str
    text: str
    place: str


class Inspection(Record):
    """What was asked for; all else is None."""

    iteration: int
    """How many steps are done."""
    step_count: int
    touched: bool
    """Whether JavaScript was run by hand on the way."""
    pages: tuple[ShownPage, ...] | None = None
    picture: ShownPicture | None = None
    next: ShownStep | None = None
    """None at the end, too."""
    network: NetworkOutcome | None = None
    """How the requests so far were met; `unused` has those of the steps that come."""
    storage: tuple[ShownItem, ...] | None = None
    console: tuple[ShownMessage, ...] | None = None
    divergences: tuple[Divergence, ...] | None = None
    """All so far, first ones first."""


class ShownMatch(Record):
    """One element that a selector matches."""

    description: str
    is_visible: bool
    box: tuple[float, float, float, float]
    """Left, top, width and height in CSS pixels, in the viewport of its frame."""


class Location(Record):
    """What a selector matches in one document."""

    selector: str
    page: int
    frame: str
    count: int
    visible: int
    """How many of those that are shown are visible."""
    matches: tuple[ShownMatch, ...]
    """The first fifty, in the order of the document."""

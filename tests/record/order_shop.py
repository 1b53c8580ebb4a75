"""A site whose orders are decided later, and what diverged in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.browser.pages import Answer

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import Asked, PageSite

ORDER: Final = """<button id=order>Order</button> <p id=status>None</p> <ul id=log></ul>
<input id=code value=A7> <label><input type=checkbox checked>Gift</label>
<script>
async function poll() {
  const text = await (await fetch('/status')).text();
  document.querySelector('#status').textContent = text;
  if (text === 'Pending') setTimeout(poll, 900);
  else document.querySelector('#log').innerHTML = '<li>one</li><li>two</li>';
}
document.querySelector('#order').onclick = async () => {
  await fetch('/order', { method: 'POST' });
  document.querySelector('#status').textContent = 'Pending';
  setTimeout(poll, 900);
};
</script>"""


class Shop:
    """A site whose orders are pending for one poll."""

    def __init__(self, site: PageSite, verdict: str = "Approved") -> None:
        """Decide on every order with `verdict`."""
        self.verdict = verdict
        self._polls = 0
        self.url = site.put(ORDER)
        site.answers["/order"] = self._order
        site.answers["/status"] = self._status

    def _order(self, _: Asked) -> Answer:
        self._polls = 0
        return Answer(body="ok")

    def _status(self, _: Asked) -> Answer:
        self._polls += 1
        return Answer(body="Pending" if self._polls == 1 else self.verdict, content_type="text/plain")


def read_divergence(outcome: ReplayOutcome) -> tuple[str, str, str, str]:
    """Return the first divergence: type of its action, code, expected and observed."""
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            if step.divergences:
                first = step.divergences[0]
                return getattr(step, "type", ""), first.code, first.expected, first.observed
    raise AssertionError("nothing diverged")


def all_divergences(outcome: ReplayOutcome) -> tuple[Divergence, ...]:
    """Return every divergence of a replay."""
    return tuple(found for subgoal in outcome.subgoals for step in subgoal.steps for found in step.divergences)

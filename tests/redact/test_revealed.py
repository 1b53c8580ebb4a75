from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.redact.secret_detector import SecretDetector, SecretRestorer
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.search import RedactionRules, SecretMatch

VALUE = "q7Zr4KxW2mNv8TbY6sLp3cHd9fGj5aRe"


@given(
    before=st.text(max_size=9), after=st.text(max_size=9), encode=st.sampled_from([encode for _, encode in ENCODINGS])
)
def test_a_replaced_value_is_restored(before: str, after: str, encode: object) -> None:
    """Values are restored in every encoding in which secrets are replaced."""
    assert callable(encode)
    found = SecretDetector(RedactionRules(), b"key")
    found.add([SecretMatch(kind="storage", name="token", value=VALUE)])
    text = f"{before} {encode(VALUE)} {after}"

    clean = Redactor({}, found.stand_ins).redact_text(text)

    assert VALUE not in clean
    assert SecretRestorer(found).restore_text(clean) == text


def test_nothing_is_put_back_where_nothing_was_found() -> None:
    """Without discovery of secrets, a session sends what its pages send."""
    assert SecretRestorer(None).restore_text(VALUE) == VALUE

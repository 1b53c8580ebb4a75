"""The built-in skills and the default registry."""

from __future__ import annotations

from eikon_engine.skills.ask_page import AskPage
from eikon_engine.skills.detect_login_form import DetectLoginForm
from eikon_engine.skills.detect_page_intent import DetectPageIntent
from eikon_engine.skills.detect_pagination import DetectPagination
from eikon_engine.skills.extract_article import ExtractArticle
from eikon_engine.skills.extract_dates import ExtractDates
from eikon_engine.skills.extract_forms import ExtractForms
from eikon_engine.skills.extract_links import ExtractLinks
from eikon_engine.skills.extract_listing import ExtractListing
from eikon_engine.skills.extract_metadata import ExtractMetadata
from eikon_engine.skills.extract_prices import ExtractPrices
from eikon_engine.skills.extract_table import ExtractTable
from eikon_engine.skills.installed import SkillEntryPoints
from eikon_engine.skills.registry import SkillRegistry

BUILT_IN_SKILLS = (
    AskPage(),
    DetectLoginForm(),
    DetectPageIntent(),
    DetectPagination(),
    ExtractArticle(),
    ExtractDates(),
    ExtractForms(),
    ExtractLinks(),
    ExtractListing(),
    ExtractMetadata(),
    ExtractPrices(),
    ExtractTable(),
)


def default_skills() -> SkillRegistry:
    """Return a registry of the built-in skills; skills of installed distributions are imported on first use."""
    return SkillRegistry.of(*BUILT_IN_SKILLS, installed=SkillEntryPoints())

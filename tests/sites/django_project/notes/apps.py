"""The configuration of the application."""

from __future__ import annotations

from django.apps import AppConfig


class NotesConfig(AppConfig):
    """The application of the notes."""

    name = "tests.sites.django_project.notes"
    label = "notes"

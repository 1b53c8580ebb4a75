"""Name the application."""

from __future__ import annotations

from django.apps import AppConfig


class NotesConfig(AppConfig):
    """Introduce the notes to Django."""

    name = "tests.sites.django_project.notes"
    label = "notes"

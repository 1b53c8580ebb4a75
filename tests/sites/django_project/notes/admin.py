"""The admin of the notes."""

from __future__ import annotations

from django.contrib import admin

from tests.sites.django_project.notes.models import Note


@admin.register(Note)
class NoteAdmin(admin.ModelAdmin):
    """A list of notes with their priority, filters and a search box."""

    list_display = ("title", "priority", "pinned")
    list_filter = ("priority", "pinned")
    search_fields = ("title", "body")

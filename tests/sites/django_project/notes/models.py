"""The model of a note."""

from __future__ import annotations

from django.db import models


class Note(models.Model):
    """A short text with a priority."""

    class Priority(models.TextChoices):
        """The priority of a note."""

        LOW = "low", "Low"
        NORMAL = "normal", "Normal"
        HIGH = "high", "High"

    title = models.CharField(max_length=100)
    body = models.TextField(blank=True)
    priority = models.CharField(max_length=10, choices=Priority, default=Priority.NORMAL)
    pinned = models.BooleanField(default=False)

    class Meta:
        """Order notes by age."""

        app_label = "notes"
        ordering = ("id",)

    def __str__(self) -> str:
        """Return the title."""
        return str(self.title)

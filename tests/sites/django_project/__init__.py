"""A small Django project whose admin pages are recorded and replayed."""

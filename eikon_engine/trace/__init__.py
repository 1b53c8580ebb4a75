"""The trace and its bundle: models, files, migrations, edits."""

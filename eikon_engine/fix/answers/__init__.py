"""Read what models answer: blocks of lines to replace, unified diffs, or that there is no fix."""

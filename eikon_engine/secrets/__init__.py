"""Secret values: finding them in text, redacting them, and their stand-ins."""

"""Programs that use the rooms below by their public names, never each other: ``label``, ``web``, ``paper``."""

"""Node packages (`.cwx`): the manifest, the archive, its signature, and how versions compare."""

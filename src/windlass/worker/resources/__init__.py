"""Resources a worker keeps for later tasks: files, and objects that live in adapter hosts."""

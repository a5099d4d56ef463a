"""Places that work is done in: containers, browsers, and pretended ones for tests."""

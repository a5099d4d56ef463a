"""The status collector: watches pods, says what became of them, and loses nothing it has seen."""

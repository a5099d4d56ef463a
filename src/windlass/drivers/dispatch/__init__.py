"""Dispatchers: how attempts reach executors that do not come for them by themselves."""

"""Background loops: each makes one pass in `run_once`, under one shared `run_forever`."""

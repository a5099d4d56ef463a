"""Settings in, running system out: the one place that names drivers."""

"""HTTP over the engine: the native API, compatible surfaces, event streams, metrics."""

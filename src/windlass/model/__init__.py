"""The nouns of Windlass as plain values: graphs, rows, states, ids and errors."""

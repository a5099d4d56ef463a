"""Languages a flow may be written in; each reads its text, checks it, and lowers it to a Graph."""

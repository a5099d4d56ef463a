"""Code that implements a port for one technology."""

"""Packages on a worker: downloaded, checked, given an environment, put in place, and removed."""

"""Memoh's `/orchestration` surface: runs of plans in its shapes and words."""

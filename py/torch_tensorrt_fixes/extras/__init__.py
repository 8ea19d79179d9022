"""Fixes of ours beyond the numbered ones: one folder each."""

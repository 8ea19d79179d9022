"""Fixes of ours beyond the twelve: one folder each."""

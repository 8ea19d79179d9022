"""The numbered fixes: one folder each."""

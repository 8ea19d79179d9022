"""What newer releases have, older trees lack, and a fix builds on: one folder each."""

"""What release/2.15 has, older trees lack, and a fix builds on: one folder each."""

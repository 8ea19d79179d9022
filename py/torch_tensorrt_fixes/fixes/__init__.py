"""The twelve: one folder a fix."""

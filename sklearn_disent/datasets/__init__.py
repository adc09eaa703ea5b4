"""Data sets: rendered on the spot, or read from their real files."""

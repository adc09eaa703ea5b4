"""Closed forms of the quantities that logical definitions give."""

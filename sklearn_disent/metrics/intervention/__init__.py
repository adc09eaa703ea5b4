"""Scores that hold factors fixed or change them."""

"""Scores of the codes alone."""

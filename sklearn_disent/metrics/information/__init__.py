"""Scores from the information that codes have about factors."""

"""Scores from predicting factors from codes."""

"""Disentanglement metrics: ``metric(factors, codes)`` returns a float. No torch here."""

"""Topology of what a model generates."""

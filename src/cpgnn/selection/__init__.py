"""Choosing a model by validation score."""

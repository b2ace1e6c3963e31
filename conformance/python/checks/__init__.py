"""Conformance checks of Loam with Python clients."""

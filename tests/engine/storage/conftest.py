"""Fixtures of the storage tests: the emulator, once a session."""

from tests.azurite import azurite

__all__ = ["azurite"]

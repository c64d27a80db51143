"""Puts this folder on the import path, so that tests of every part of the engine can import `made_datasets`; and the
emulator, once a session."""

from tests.azurite import azurite

__all__ = ["azurite"]

"""Puts this folder on the import path, so that tests of every part of the engine can import `made_datasets`."""

"""Zarr stores of version 2 and 3, and NCZarr. Imported by `sources.registry` only."""

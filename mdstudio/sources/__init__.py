"""What can be imported: one module or package a family of files, each giving a `Source` (`contract`).

`registry.open_source` is the way in. Sources import from the engine's model, spatial index, times,
errors and parameters only; `md` alone opens datasets through the engine.
"""

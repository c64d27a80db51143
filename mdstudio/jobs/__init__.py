"""Jobs: what the window, the command line and Python all run, described by one JSON recipe.

`recipe` (what to do), `run` (do it here), `process` (do it in a worker process), `journal` (what a killed import goes
on with), `compare` (two datasets, bit by bit), `listing` (datasets below a location), `sample` (the sample dataset).
Jobs use sources and the engine; they know neither Qt nor the command line.
"""

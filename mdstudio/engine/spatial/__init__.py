"""Where cells lie: the tiles of a grid and their stored order (`tiles`), cells against rectangles and points (`grid`).

Pure computing on coordinates, no I/O. May be imported from anywhere; imports `engine.model` and `engine.errors` only.
"""

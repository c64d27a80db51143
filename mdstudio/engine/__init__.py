"""The engine: stores, codecs, layouts, queries, health. Knows no Qt and no file format but its own.

    storage    blobs: the protocol, the local folder, Azure, wrappers
    codecs     compression names, registry, transforms in C and their NumPy twin
    spatial    tiles, cells, which cells a rectangle or a point finds
    layout     names, `dataset.json`, domain, page indexes, pages, guards
    reading    stored bytes to cells, for the queries
    writing    cells to stored bytes, for the writer
    operations append, update, replace, remove times, mesh update, relocate, clean
    health     the structural check, which parses bytes by itself

`dataset` (open, query, inspect), `writer` (make a dataset), `settings` and `parameters` (how it will be stored),
`query`, `requests`, `page_table`, `sizes` (what an open dataset answers), `model`, `items`, `times`, `progress`,
`processors`, `errors`. Everything else of the project may import it; it imports none of it.
"""

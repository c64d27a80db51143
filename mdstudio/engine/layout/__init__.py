"""How a dataset lies in blobs (`resources/format.md`): names, `dataset.json`, the domain, page indexes, pages, guards.

`metadata` (the one path that loads and saves), `document` and `fields` (its JSON), `domain`, `guards`; `item_layout`,
`names`, `page_index`, `pages`, `encoding` (what all layouts share), `single`, `multi`, `series`, `step_pages`.
Imports codecs,
spatial and storage; is imported by reading, writing, dataset, writer and health.
"""

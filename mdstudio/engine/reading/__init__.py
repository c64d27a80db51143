"""The parts of a read: fetch the bytes of pages, decode them, and read again where another writer came in between.

For `mdstudio.engine.query`, `page_table` and `sizes`; nothing else imports from here.
"""

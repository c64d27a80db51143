"""The parts of a write: units of work, how each layout writes one, and what must be taken back when one fails.

For `mdstudio.engine.writer` and its like (append, update, replace); nothing else imports from here.
"""

"""The structural check of a dataset: findings with stable codes (design 2, 5a).

`check` is what callers use. It parses index bytes itself and shares no code with the readers in `engine.layout`, so
that a fault of theirs cannot hide damage; the metadata document is the one thing that both read alike.
"""

from mdstudio.engine.health.checking import LEVELS, check
from mdstudio.engine.health.findings import Finding, Summary

__all__ = ["LEVELS", "Finding", "Summary", "check"]

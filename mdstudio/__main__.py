"""`python -m mdstudio` is the command line."""

from __future__ import annotations

import sys

from mdstudio.cli.main import main

if __name__ == "__main__":  # a worker process imports this module again under another name
    sys.exit(main())

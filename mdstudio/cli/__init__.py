"""The command line: one module a command, each with `add_parser` and `run(args, out) -> exit status` (design 5).

`main` (dispatch, errors, exit statuses), `output` (JSON and tables on stdout), `progress` (stderr, Ctrl-C). Commands
parse, call `jobs` or the engine, and print; they decide nothing else.
"""

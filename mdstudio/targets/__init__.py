"""What can be written besides MD: the results of queries as files (`results`), whole or not at all (`files`).

Imports the engine only; the command line and the application write through the same functions.
"""

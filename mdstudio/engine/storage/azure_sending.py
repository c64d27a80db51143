"""Sending one request of Azure: again after a time-out or an overload, once where its own effect would mislead it.

The SDK's retries are off. No text of an exception of the SDK is passed on and none is kept: they hold URLs with
signatures.
"""

from __future__ import annotations

from collections.abc import Callable

from azure.core.exceptions import AzureError

from mdstudio.engine.storage.azure_errors import is_lost, is_transient, malformed, retry_after, translation

PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before each further try, or what the service asks for if that is longer
LONGEST_PAUSE = 60.0  # seconds, whatever the service asks for


def send[T](
    request: Callable[[], T],
    where: str,
    sleep: Callable[[float], None],
    *,
    once: bool = False,
    pauses: tuple[float, ...] = PAUSES,
) -> T:
    """The answer to a request about the blob `where`; `once`: never again after it may have taken effect.

    Raises the error of the engine; for a lost answer with `once` a `CommitUncertainError`, after the time that a busy
    service asks for, since the caller reads the blob next.
    """
    for pause in (*pauses, None):
        try:
            return request()
        except AzureError as error:
            problem = translation(error, where, lost=once and is_lost(error))
            again = not once and is_transient(error)
            asked = min(retry_after(error), LONGEST_PAUSE)
        except (LookupError, AttributeError, TypeError, ValueError):  # of the SDK, for an answer that is no such answer
            problem, again, asked = malformed(where, lost=once), False, 0.0
        # Outside the `except`, so that the new error does not carry the old one with its URL.
        if pause is None or not again:
            if once and asked:
                sleep(asked)
            raise problem
        sleep(max(pause, asked))
    raise AssertionError("unreachable")

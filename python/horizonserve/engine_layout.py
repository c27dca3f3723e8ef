"""Which shape the waiting structures of an engine have. They changed three times within a year of vLLM, so they are recognised by
their attributes and not by a version number. In every shape only `waiting` is ours.
"""

_VERBS = ("add_request", "pop_request", "peek_request", "prepend_request", "prepend_requests", "remove_request", "remove_requests")


def layout_of(scheduler):
    """`waiting` (vLLM 0.12), `waiting+skipped` (0.18 to 0.30), `waiting+kv-holding` (0.31 on), or None for an unknown shape."""
    waiting = getattr(scheduler, "waiting", None)
    if waiting is None or not all(callable(getattr(waiting, verb, None)) for verb in _VERBS):
        return None
    if not isinstance(getattr(scheduler, "running", None), list):
        return None
    if hasattr(scheduler, "kv_holding_waiting"):
        return "waiting+kv-holding"
    if hasattr(scheduler, "skipped_waiting"):
        return "waiting+skipped"
    return "waiting"

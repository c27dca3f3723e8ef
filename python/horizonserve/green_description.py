"""The description of an SM ladder: plain data from another process, checked field by field. The same rules as
src/gpu/ladder-description.ts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .green_driver import GreenError

METHODS = ("groups", "pair", "split", "whole")


class Row(NamedTuple):
    """One row of a description."""

    method: str
    groups: int
    shared_sms: int
    downstream_sms: int


class Description(NamedTuple):
    """A checked description."""

    total_sms: int
    min_count: int
    group_sms: int
    num_groups: int
    levels: list[Row]
    aggressive: Row


def check_description(value: Any) -> Description:
    """Checks a description that came from a file or another process, field by field."""
    top = _mapping(value, "description")
    if top.get("format") != 1:
        raise _wrong("format", "1", top.get("format"))
    total = _count(top.get("totalSms"), "totalSms", 2, 4096)
    minimum = _count(top.get("minCount"), "minCount", 1, total)
    group = _count(top.get("groupSms"), "groupSms", 1, total)
    groups = _count(top.get("numGroups"), "numGroups", 1, total // group)
    rows = top.get("levels")
    if not isinstance(rows, (list, tuple)) or not 1 <= len(rows) <= 64:
        raise _wrong("levels", "a list of 1 to 64 rows", rows)
    levels: list[Row] = []
    for i, row in enumerate(rows):
        levels.append(_check_row(row, f"levels[{i}]", total, group, groups))
        if levels[i].method == "whole":
            raise _wrong(f"levels[{i}].method", "a partition", "whole")
        if i > 0 and levels[i].shared_sms <= levels[i - 1].shared_sms:
            raise _wrong(f"levels[{i}].sharedSms", "more than the row before", levels[i].shared_sms)
    aggressive = _check_row(top.get("aggressive"), "aggressive", total, group, groups)
    if aggressive.shared_sms <= levels[-1].shared_sms:
        raise _wrong("aggressive.sharedSms", "more than the last level", aggressive.shared_sms)
    return Description(total, minimum, group, groups, levels, aggressive)


def _check_row(value: Any, field: str, total: int, group: int, num_groups: int) -> Row:
    row = _mapping(value, field)
    method = row.get("method")
    if method not in METHODS:
        raise _wrong(f"{field}.method", " | ".join(METHODS), method)
    low, high = (0, 0) if method == "whole" else (1, num_groups)
    groups = _count(row.get("groups"), f"{field}.groups", low, high)
    shared = _count(row.get("sharedSms"), f"{field}.sharedSms", 1, total)
    downstream = _count(row.get("downstreamSms"), f"{field}.downstreamSms", 0, total)
    if shared + downstream != total:
        raise _wrong(field, f"two sides that sum to {total}", shared + downstream)
    if method != "whole" and shared != groups * group:
        raise _wrong(f"{field}.sharedSms", f"{groups} groups of {group}", shared)
    return Row(method, groups, shared, downstream)


def _mapping(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(field, "an object", value)
    return value


def _count(value: Any, field: str, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _wrong(field, f"a whole number from {low} to {high}", value)
    return value


def _wrong(field: str, expected: str, got: Any) -> GreenError:
    return GreenError("ERR_GPU_LADDER_DESCRIPTION", f"{field}: expected {expected}, got {str(got)[:80]}")

"""Random histories for a scheduler: arrivals, lengths, classes, aborts, all from one seed."""

import random


class Item:
    __slots__ = ("id", "at_ms", "tokens", "max_tokens", "long", "priority", "abort_ms")

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values[name])


def workload(seed, count, rate_per_s=40.0, long_share=0.4, abort_share=0.05, max_prompt=400, max_output=24, priorities=False):
    """`count` requests in the order of arrival; times in ms from 0."""
    rng = random.Random(seed)
    items, at = [], 0.0
    for i in range(count):
        at += rng.expovariate(rate_per_s) * 1000
        is_long = rng.random() < long_share
        items.append(
            Item(
                id=f"r{seed}-{i}",
                at_ms=at,
                tokens=rng.randint(1, max_prompt if is_long else max_prompt // 2),
                max_tokens=rng.randint(1, max_output),
                long=is_long,
                priority=rng.randint(0, 3) if priorities else 10 if is_long else 0,
                abort_ms=at + rng.uniform(0, 3000) if rng.random() < abort_share else None,
            )
        )
    return items

"""Prints {"naive": {size: [ns, ...]}, "sameAlgorithm": {...}} for the sizes and sample counts given as JSON in the first argument."""
import json
import sys

import naive
import same_algorithm

plan = json.loads(sys.argv[1])
print(
    json.dumps(
        {
            "python": sys.version.split()[0],
            "naive": {size: naive.measure(int(size), count) for size, count in plan["naive"].items()},
            "sameAlgorithm": {size: same_algorithm.measure(int(size), count) for size, count in plan["sameAlgorithm"].items()},
        }
    )
)

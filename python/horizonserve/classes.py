"""Which class a request belongs to, and how long it would take alone: from descriptions that the controller publishes as JSON.

The arithmetic of the profiles is that of the controller's request profiler, in the same order, so that both put a request into the
same bucket.
"""

import json
import logging

from .waiting import bucket_of
from .wire import AUDIO, IMAGE, MAX_CLASSES, TEXT, VIDEO, WireError

log = logging.getLogger("horizonserve")
_KINDS = ("promptTokens", "audioSeconds", "images", "videos")
_MAX_POINTS = 64
_INF = float("inf")


class Features:
    """What the shim could learn of a request. Masks are 0 where nothing was said. `goes_on`: it certainly ends after the shared stage.
    `companion_of`: the external id of the request that it may be a part of; `is_companion`: it certainly is a part of another."""

    __slots__ = ("inputs", "outputs", "tokens", "audio_ms", "images", "videos", "priority", "slo_ms", "external_id", "goes_on", "companion_of", "is_companion")

    def __init__(
        self, inputs=TEXT, outputs=0, tokens=0, audio_ms=0, images=0, videos=0, priority=0, slo_ms=0, external_id="",
        goes_on=False, companion_of=None, is_companion=False,
    ):
        self.goes_on, self.companion_of, self.is_companion = goes_on, companion_of, is_companion
        self.inputs, self.outputs, self.tokens = inputs, outputs, tokens
        self.audio_ms, self.images, self.videos = audio_ms, images, videos
        self.priority, self.slo_ms, self.external_id = priority, slo_ms, external_id


class ClassBook:
    """The classes of one epoch."""

    def __init__(self, text, rows):
        try:
            described = json.loads(text)["classes"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise WireError("the class descriptions are no JSON object with `classes`") from None
        if not isinstance(described, list) or not 1 <= len(described) <= MAX_CLASSES or len(described) != len(rows):
            raise WireError(f"the descriptions do not match the {len(rows)} published classes")
        self.names, self._masks, self._costs = [], [], []
        for c, each in enumerate(described):
            if not isinstance(each, dict) or not isinstance(each.get("name"), str):
                raise WireError(f"classes[{c}] is no object with a name")
            self.names.append(each["name"])
            # Text comes along with every prompt.
            inputs = _mask(each, "inputs", c)
            self._masks.append((inputs and inputs | TEXT, _mask(each, "outputs", c)))
            self._costs.append((_cost(each.get("shared", {}), c), _number(each.get("decodeMs", 0), c), _cost(each.get("downstream", {}), c)))
        #: The class by what a request brings and asks for, as it is first met: 256 at most.
        self._by_masks = {}
        self._by_priority = {}
        for c, row in enumerate(rows):
            self._by_priority.setdefault(row.priority, c)

    def class_of(self, features):
        """Output marker or modalities first, then priority, then the first class. The rules stand in `test/golden/mixed-requests.json`."""
        if features.outputs:
            masks = features.outputs, features.inputs | TEXT, features.goes_on
            c = self._by_masks.get(masks)
            if c is None:
                c = self._by_masks[masks] = self._of_masks(*masks)
            if c >= 0:
                return c
        return self._by_priority.get(features.priority, 0)

    def _of_masks(self, outputs, inputs, goes_on):
        candidates = self._that_give(_slowest(outputs))
        if not candidates and goes_on:
            # It does not end with text, whatever it ends with: the slowest class that does not either.
            later = [gives for _, gives in self._masks if gives & ~TEXT]
            if later:
                candidates = self._that_give(max(map(_slowest, later)))
                log.info("horizonserve: no class gives what a request asks for that ends in a later stage; taken for %s", self.names[candidates[0]])
        return self._by_inputs(candidates, inputs) if candidates else -1

    def _that_give(self, output):
        return [c for c, (_, gives) in enumerate(self._masks) if not gives or gives & output]

    def _by_inputs(self, candidates, inputs):
        """The class that takes all inputs and least beside them; if none does, the first that takes the slowest of them, else the first."""
        best, fewest = -1, _INF
        for c in candidates:
            takes = self._masks[c][0]
            # One that takes everything comes after those that say what they take.
            spare = bin(takes & ~inputs).count("1") if takes else 4
            if (not takes or not inputs & ~takes) and spare < fewest:
                best, fewest = c, spare
        if best >= 0:
            return best
        decisive = _slowest(inputs)
        return next((c for c in candidates if self._masks[c][0] & decisive), candidates[0])

    def bucket_of(self, class_index, features):
        """Bucket of the estimated solo time to the first response."""
        shared, decode_ms, downstream = self._costs[class_index]
        values = (features.tokens, features.audio_ms / 1000, features.images, features.videos)
        return bucket_of(_evaluate(shared, values) + decode_ms + _evaluate(downstream, values))


def _slowest(mask):
    """A request of several modalities is as slow as the slowest of them."""
    for bit in (VIDEO, IMAGE, AUDIO, TEXT):
        if mask & bit:
            return bit
    return TEXT


def _evaluate(cost, values):
    ms, curves = cost
    for kind, x, y in curves:
        points = len(x)
        value = values[kind]
        if points == 1:
            ms += (y[0] / x[0]) * value
            continue
        right = 1
        while right < points - 1 and value > x[right]:
            right += 1
        slope = (y[right] - y[right - 1]) / (x[right] - x[right - 1])
        at = y[right - 1] + slope * (value - x[right - 1])
        ms += 0 if value == 0 and x[0] > 0 else y[0] if value < x[0] else at
    return ms


def _number(value, c):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        raise WireError(f"classes[{c}]: {value!r} is no finite number from 0")
    return value


def _mask(each, name, c):
    value = each.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 15:
        raise WireError(f"classes[{c}].{name}: {value!r} is no mask of modalities")
    return value


def _cost(cost, c):
    if not isinstance(cost, dict):
        raise WireError(f"classes[{c}]: a cost is an object")
    curves = []
    for number, kind in enumerate(_KINDS):
        points = cost.get(kind, [])
        if not isinstance(points, list) or len(points) > _MAX_POINTS:
            raise WireError(f"classes[{c}].{kind}: expected at most {_MAX_POINTS} points")
        x, y = [], []
        for point in points:
            if not isinstance(point, list) or len(point) != 2:
                raise WireError(f"classes[{c}].{kind}: a point is [input, ms]")
            at, ms = _number(point[0], c), _number(point[1], c)
            if x and at <= x[-1] or len(points) == 1 and at == 0:
                raise WireError(f"classes[{c}].{kind}: inputs must rise")
            x.append(at)
            y.append(ms)
        if x:
            curves.append((number, x, y))
    return _number(cost.get("fixedMs", 0), c), curves

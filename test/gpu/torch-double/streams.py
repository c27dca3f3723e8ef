"""`torch.cuda` at its boundary, without a GPU: streams, events and graphs with vector clocks.

Work on a stream is a tick of its clock. Waiting for an event joins the clocks. A tensor remembers the tick that made it; reading it on a
stream whose clock does not contain that tick is an unordered read, which real hardware would answer with whatever the memory holds.
A graph's kernels run where they were captured: the row of the capture stream, whatever stream replays it.
"""

import contextlib
import itertools
import types

_ids = itertools.count(1)


class Unordered(AssertionError):
    """A tensor was read before what makes it was ordered."""


class Stream:
    def __init__(self, handle=0, device=0, priority=0):
        self.handle, self.device, self.id = handle, device, next(_ids)
        self.clock = {self.id: 0}

    def tick(self):
        self.clock[self.id] += 1
        return (self.id, self.clock[self.id])

    def wait_event(self, event):
        for key, value in event.clock.items():
            self.clock[key] = max(self.clock.get(key, 0), value)

    def wait_stream(self, other):
        event = Event()
        event.record(other)
        self.wait_event(event)

    def knows(self, tick):
        return self.clock.get(tick[0], 0) >= tick[1]


class Event:
    made = 0

    def __init__(self, enable_timing=False):
        Event.made += 1
        self.clock = {}

    def record(self, stream=None):
        self.clock = dict((stream or current_stream()).clock)


class Tensor:
    """`made` is the tick of the kernel that writes it, `row` the SMs it ran on."""

    def __init__(self, made, row):
        self.made, self.row = made, row

    def read(self):
        stream = current_stream()
        if not stream.knows(self.made):
            raise Unordered(f"stream {stream.id} reads what stream {self.made[0]} made at {self.made[1]}, and knows {stream.clock}")
        return self


class Graph:
    """What capture and replay need; its class is wrapped as torch's is."""

    def __init__(self):
        self.row = None

    def capture_begin(self, *args, **kwargs):
        self.row = current_stream().handle

    def replay(self):
        return Tensor(current_stream().tick(), self.row)


_default = Stream()
_current = [_default]


def current_stream(device=None):
    return _current[-1]


@contextlib.contextmanager
def stream(to):
    _current.append(to)
    try:
        yield to
    finally:
        _current.pop()


def kernel(*inputs):
    """A kernel launch on the current stream."""
    for tensor in inputs:
        tensor.read()
    return Tensor(current_stream().tick(), current_stream().handle)


def module():
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(ExternalStream=Stream, Event=Event, stream=stream, current_stream=current_stream, CUDAGraph=Graph)
    return torch

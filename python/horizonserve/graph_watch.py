"""Notices CUDA graphs that run with other SMs than the level in force.

The kernels of a graph keep the context they were captured in (CUDA driver API, CUDA_KERNEL_NODE_PARAMS). Models keep graphs of their
own that no engine switch reaches, so the call itself is watched: every graph remembers the row that was in force at its capture.
"""

import functools

_ROW = "horizonserve_row"


class GraphWatch:
    """`row` is what the hook has in force, -1 outside of it; `foreign` counts replays of graphs that were captured elsewhere."""

    def __init__(self):
        self.row = -1
        self.foreign = 0

    def install(self, graph_class):
        """Wraps `capture_begin` and `replay` of torch's graph class, once; the last watch installed is the one that counts."""
        graph_class.horizonserve_watch = self
        if getattr(graph_class.replay, "horizonserve", False):
            return
        begin, replay = graph_class.capture_begin, graph_class.replay

        @functools.wraps(begin)
        def capture_begin(graph, *args, **kwargs):
            setattr(graph, _ROW, type(graph).horizonserve_watch.row)
            return begin(graph, *args, **kwargs)

        @functools.wraps(replay)
        def watched(graph, *args, **kwargs):
            watch = type(graph).horizonserve_watch
            if watch.row >= 0 and getattr(graph, _ROW, -1) != watch.row:
                watch.foreign += 1
            return replay(graph, *args, **kwargs)

        watched.horizonserve = True
        graph_class.capture_begin, graph_class.replay = capture_begin, watched

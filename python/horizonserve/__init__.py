"""horizonserve inside an engine's processes: a view on the waiting queue, and the SM level around model execution.

Importing this package imports nothing of the engine and needs the standard library only. Schedulers are in `horizonserve.vllm` and
`horizonserve.vllm_omni`.
"""

__version__ = "0.1.0"

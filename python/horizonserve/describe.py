"""What of a request decides its class, its estimate and its deadline. Whatever a client sent is untrusted: what cannot be read counts
as not said.

An own SLO can ride on a request in four ways, the first found wins: `slo_ms` in the prompt's `additional_information` (embedded use),
`slo_ms` in the sampling parameters' `extra_args` (`vllm_xargs`), or a request id that begins with `slo=<ms>.` (the `X-Request-Id`
header, the only way through vLLM-Omni's chat endpoint); else the class decides. HORIZONSERVE_SLO narrows that.
"""

import os
import re

from .classes import Features
from .wire import AUDIO, IMAGE, TEXT, VIDEO

_BITS = {
    "text": TEXT, "audio": AUDIO, "speech": AUDIO, "image": IMAGE, "video": VIDEO,
    # Tasks, as clients of image and video models name them.
    "text2img": IMAGE, "txt2img": IMAGE, "img2img": IMAGE, "text2image": IMAGE, "image2image": IMAGE,
    "text2video": VIDEO, "txt2video": VIDEO, "img2video": VIDEO, "image2video": VIDEO, "video2video": VIDEO,
    "text2speech": AUDIO, "text2audio": AUDIO,
}  # fmt: skip
#: vLLM-Omni expands one guided request into a parent and companions, whose ids end so; the engine's own id has a random tail.
_COMPANION = re.compile(r"__cfg_[A-Za-z0-9]+$")
_COMPANION_INSIDE = re.compile(r"__cfg_[A-Za-z0-9]+(?:-[0-9a-f]{8})?$")
_SLO_ID = re.compile(r"(?:^|-)slo=([0-9]{1,9})\.")
#: Audio encoders of the Qwen-Omni family give 25 tokens a second.
_AUDIO_MS_PER_TOKEN = 40
_MAX_SLO_MS = 86_400_000
_NOTHING = {}


def describe(request, info=None):
    """`Features` of an engine request. `info` is its additional information, where the engine has such."""
    inputs, audio_ms, images, videos = TEXT, 0, 0, 0
    for feature in getattr(request, "mm_features", None) or ():
        kind = getattr(feature, "modality", "")
        if kind == "audio":
            inputs |= AUDIO
            audio_ms += _length(feature) * _AUDIO_MS_PER_TOKEN
        elif kind == "image":
            inputs |= IMAGE
            images += 1
        elif kind == "video":
            inputs |= VIDEO
            videos += 1
    extra = getattr(getattr(request, "sampling_params", None), "extra_args", None) or _NOTHING
    info = info or _NOTHING
    external = getattr(request, "external_req_id", None) or str(request.request_id)
    final = _final_stage(info)
    return Features(
        inputs=inputs,
        outputs=_outputs(final, info, extra),
        goes_on=final > 0,
        companion_of=_leader_of(external, str(request.request_id)) if final <= 0 else None,
        is_companion=bool(info.get("omni_force_kv_transfer")),
        tokens=int(getattr(request, "num_prompt_tokens", 0)),
        audio_ms=audio_ms,
        images=images,
        videos=videos,
        priority=getattr(request, "priority", 0),
        slo_ms=_own_slo(info, extra, external),
        external_id=external,
    )


def _final_stage(info):
    """-1 where it is not known."""
    final = info.get("omni_final_stage_id")
    return final if isinstance(final, int) and not isinstance(final, bool) and final >= 0 else -1


def _outputs(final, info, extra):
    """The stage where the answer ends says whether it is text; `modalities`, where it is given, says more."""
    if final == 0:
        return TEXT
    mask = _mask_in(info) or _mask_in(extra)
    return mask & ~TEXT or AUDIO if final > 0 else mask


def _leader_of(external, request_id):
    """The external id of the request that this one is a companion of, by its name; None where the name says nothing."""
    if "__cfg_" not in external and "__cfg_" not in request_id:
        return None
    match = _COMPANION.search(external)
    if match:
        return external[: match.start()]
    # Or it carries its leader's external id, and only the engine's own says what it is.
    return external if _COMPANION_INSIDE.search(request_id) else None


def _mask_in(carrier):
    """The modalities named; 0 where nothing readable was said."""
    said = carrier.get("modalities")
    if said is None:
        return 0
    if isinstance(said, str):
        said = [said]
    mask = 0
    for name in said if isinstance(said, (list, tuple)) else ():
        mask |= _BITS.get(name, 0) if isinstance(name, str) else 0
    return mask


def _length(feature):
    position = getattr(feature, "mm_position", None)
    length = getattr(position, "length", 0)
    return length if isinstance(length, int) and length > 0 else 0


def _own_slo(info, extra, external):
    """HORIZONSERVE_SLO says whose word counts: everybody's, that of whoever sets the request id, nobody's."""
    who = os.environ.get("HORIZONSERVE_SLO", "all")
    if who == "off":
        return 0
    of_id = _slo_of_id(external)
    return of_id if who == "id" else _slo_in(info) or _slo_in(extra) or of_id


def _slo_in(carrier):
    value = carrier.get("slo_ms")
    return 0 if value is None else _slo(value)


def _slo(value):
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= _MAX_SLO_MS:
        return 0
    return int(value)


def _slo_of_id(external):
    match = _SLO_ID.search(external) if "slo=" in external else None
    return _slo(int(match.group(1))) if match else 0

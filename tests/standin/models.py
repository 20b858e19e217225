"""The models the server has, and the routes that list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from tests.standin.decode import decode
from tests.standin.errors import ApiError
from tests.standin.settings import ServerSettings, SystemOne

_MODIFIED = "2026-01-05T10:00:00Z"
_EXPIRES = "2318-01-05T10:00:00Z"
_SIZE = 2_019_393_189
_DETAILS: Mapping[str, object] = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "3.2B",
    "quantization_level": "Q4_K_M",
}


def full_name(name: str) -> str:
    """Return the name with its tag, in lower case: Ollama finds models whatever the case."""
    last = name.rsplit("/", 1)[-1]
    return (name if ":" in last else f"{name}:latest").lower()


def list_models(settings: ServerSettings) -> object:
    """Return the body of /api/tags."""
    return {
        "models": [
            {"name": name, "model": name, "modified_at": _MODIFIED, "size": _SIZE}
            | {"digest": _digest(name), "details": _DETAILS}
            for name in map(full_name, settings.models)
        ]
    }


def list_loaded(loaded: Mapping[str, object]) -> object:
    """Return the body of /api/ps: the models in memory, with the context length each was loaded for."""
    return {
        "models": [
            {"name": name, "model": name, "size": _SIZE, "digest": _digest(name), "details": _DETAILS}
            | {"expires_at": _EXPIRES, "size_vram": _SIZE, "context_length": num_ctx}
            for name, num_ctx in loaded.items()
        ]
    }


def list_ids(settings: ServerSettings) -> object:
    """Return the body of /v1/models."""
    names: Sequence[str] = [full_name(name) for name in settings.models]
    data = [{"id": name, "object": "model", "created": 1_767_607_200, "owned_by": "library"} for name in names]
    return {"object": "list", "data": data}


def show(settings: ServerSettings, raw: bytes) -> object:
    """Return the body of /api/show.

    Raises:
        ApiError: the request is wrong, or there is no such model.
    """
    body = decode(raw, "ShowRequest", {"model": "string", "name": "string"})
    name = str(body.get("model") or body.get("name") or "")
    if not name:
        raise ApiError(400, "model is required")
    if full_name(name) not in map(full_name, settings.models):
        raise ApiError(404, f"model '{name}' not found")
    decides = ["decision"] if settings.systemone is SystemOne.ON else []
    return {
        "modelfile": f"FROM {full_name(name)}\n",
        "parameters": 'stop                           "<|eot_id|>"',
        "template": "{{ .Prompt }}",
        "details": _DETAILS,
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        "capabilities": ["completion", "tools", *decides],
        "modified_at": _MODIFIED,
    }


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()

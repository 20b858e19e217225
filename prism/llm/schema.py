"""The JSON schema of a response model, without references."""

from __future__ import annotations

from typing import Any

import msgspec

_LISTS = ("anyOf", "prefixItems")
_SINGLES = ("items", "additionalProperties", "propertyNames")
"""The keys of a schema that hold schemas, as far as msgspec writes them."""


def schema_of(model: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the model's JSON schema without `$ref`, which several servers do not follow.

    Objects with named properties allow no others: servers that enforce schemas strictly require that.

    Raises:
        TypeError: the model contains itself, so it has no finite schema.
    """
    schema = msgspec.json.schema(model)
    return _resolve(schema, schema.get("$defs", {}), ())


def _resolve(node: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        if name in above:
            message = f"a response model must not contain itself, as {name} does"
            raise TypeError(message)
        rest = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
        return {**_resolve(definitions[name], definitions, (*above, name)), **rest}
    resolved: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":  # by name: a field may be called "$ref" or "properties"
            resolved[key] = {name: _resolve(inner, definitions, above) for name, inner in value.items()}
        elif key in _LISTS:
            resolved[key] = [_resolve(inner, definitions, above) for inner in value]
        elif key in _SINGLES and isinstance(value, dict):
            resolved[key] = _resolve(value, definitions, above)
        else:
            resolved[key] = value
    if "properties" in resolved:
        resolved["additionalProperties"] = False
    return resolved

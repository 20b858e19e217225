"""The JSON schema of a response model, in one piece."""

from __future__ import annotations

from typing import Any

import msgspec


def schema_of(model: type[msgspec.Struct]) -> dict[str, Any]:
    """The model's JSON schema without `$ref`, which several servers do not follow.

    Objects with named properties admit no others: servers that enforce schemas strictly ask for that.

    Raises:
        TypeError: the model contains itself, so that no finite schema says what it is.
    """
    schema = msgspec.json.schema(model)
    resolved = _resolve(schema, schema.get("$defs", {}), ())
    assert isinstance(resolved, dict)
    return resolved


def _resolve(node: Any, definitions: dict[str, Any], above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolve(item, definitions, above) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        name = node["$ref"].removeprefix("#/$defs/")
        if name in above:
            message = f"a response model must not contain itself, as {name} does"
            raise TypeError(message)
        rest = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
        return {**_resolve(definitions[name], definitions, (*above, name)), **rest}
    closed = {"additionalProperties": False} if "properties" in node else {}
    return {**{key: _resolve(value, definitions, above) for key, value in node.items() if key != "$defs"}, **closed}

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A validator of JSON for the words that documentation/json.schema.json uses, and a strict reader of JSON."""
import json
import re
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "documentation" / "json.schema.json"
WORDS = {"$ref", "additionalProperties", "const", "enum", "items", "maximum", "minimum", "oneOf", "pattern", "properties", "required", "type"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def load():
    return json.loads(PATH.read_text(encoding="ascii"))


def is_of(value, kind):
    return isinstance(value, TYPES[kind]) and (kind != "integer" or not isinstance(value, bool))


def wrong(value, schema, root, where="report"):
    """Describe the first part of @value that the schema does not allow, or return None. @root: resolves references."""
    if not set(schema) <= WORDS | {"$schema", "$defs", "title"}:
        raise ValueError(f"unknown words in the schema: {sorted(set(schema) - WORDS)}")
    if "$ref" in schema:
        return wrong(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "oneOf" in schema:
        found = [wrong(value, one, root, where) for one in schema["oneOf"]]
        return None if found.count(None) == 1 else f"{where} is {found.count(None)} of {len(found)}: {found}"
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None:
        return None if any(value == one and type(value) is type(one) for one in allowed) else f"{where} is not one of {allowed}"
    if not is_of(value, schema["type"]):
        return f"{where} is not of type {schema['type']}"
    if schema["type"] == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{where} is out of range"
    if schema["type"] == "string" and not re.search(schema.get("pattern", ""), value):
        return f"{where} does not match {schema['pattern']}"
    return next(filter(None, wrong_parts(value, schema, root, where)), None)


def wrong_parts(value, schema, root, where):
    if schema["type"] == "array":
        return [wrong(item, schema["items"], root, f"{where}[{i}]") for i, item in enumerate(value)]
    if schema["type"] != "object":
        return []
    members = schema["properties"]
    missing, strange = set(schema["required"]) - set(value), set(value) - set(members)
    if missing or strange:
        return [f"{where}: missing {sorted(missing)}, strange {sorted(strange)}"]
    return [wrong(value[name], members[name], root, f"{where}.{name}") for name in value]


def unique(pairs):
    """Refuse an object that has a member twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError(f"a member occurs twice: {[name for name, _ in pairs]}")
    return dict(pairs)


def no_number(text):
    raise ValueError(f"{text} is no JSON")


def parse(text, program):
    """Parse bytes as strict JSON, check them by the schema of @program, and return the document."""
    document = json.loads(text.decode("ascii"), object_pairs_hook=unique, parse_constant=no_number)
    root = load()
    assert not wrong(document, root["$defs"][program], root), wrong(document, root["$defs"][program], root)
    assert not wrong(document, root, root), "the schema takes this for a report of two programs"
    return document

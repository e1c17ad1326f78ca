"""JSON schemas as reference pages: a heading for each key, what it may be, its default, its description."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from documentation.pages import code, slug, table

Part = Mapping[str, Any]
NAMED = {  # parts of our schemas that a word says better than their patterns
    "path": "a path",
    "optional_path": "a path",
    "paths": "a list of paths",
    "arguments": "arguments of a command",
    "name": "a name",
    "annotations": "a list of annotations",
    "filters": "filters by name",
    "resources": "training sets by name",
    "labelled": "training sets by name",
}
TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "object": "keys with values",
    "null": "empty",
}


def keys(root: Part, part: Part | None = None, prefix: str = "") -> Iterator[tuple[str, Part]]:
    """Each key's dotted name and its part, in the schema's order; NAME stands for a name that users choose."""
    part = resolve(root, root if part is None else part)
    for name, each in part.get("properties", {}).items():
        yield prefix + name, {**resolve(root, each), "needed": name in part.get("required", ())}
        yield from keys(root, each, f"{prefix}{name}.")
    if isinstance(part.get("additionalProperties"), Mapping):
        yield from keys(root, part["additionalProperties"], f"{prefix}NAME.")


def resolve(root: Part, part: Part) -> Part:
    """A part with what it refers to; what it says itself goes first."""
    if "$ref" not in part:
        return part
    name = part["$ref"].rpartition("/")[2]
    return {"named": name} | root["$defs"][name] | {key: value for key, value in part.items() if key != "$ref"}


def values(root: Part, part: Part) -> str:
    """What a key may be, in words."""
    part = resolve(root, part)
    if "values" in part:
        return part["values"]
    if part.get("named") in NAMED:
        return NAMED[part["named"]]
    if "const" in part:
        return code(part["const"])
    if "enum" in part:
        return _either([code(value) if value is not None else TYPES["null"] for value in part["enum"]])
    for choice in ("anyOf", "oneOf"):
        if choice in part:
            return _either(list(dict.fromkeys(values(root, each) for each in part[choice])))
    kinds = part.get("type", "string")
    if isinstance(kinds, list):
        return _either([values(root, dict(part) | {"type": kind}) for kind in kinds])
    if kinds == "array":
        return f"a list, each {values(root, part.get('items', {}))}"
    return TYPES[kinds] + (bounds(part) if kinds in ("integer", "number") else "")


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def bounds(part: Part) -> str:
    words = {"minimum": "from", "maximum": "to", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
    return "".join(f" {word} {part[key]:,}" for key, word in words.items() if key in part)


def default(part: Part) -> str | None:
    """A key's default as it would be written; None where it has none."""
    if "default" not in part or part["default"] == {}:
        return None
    value = part["default"]
    if value in ("", None):
        return "empty"
    if isinstance(value, str):
        return code(value)
    return "see below" if isinstance(value, dict) else code(json.dumps(value).replace('"', ""))


def overview(found: Mapping[str, Part]) -> str:
    rows = ((f"[{code(name)}](#{slug(name)})", default(part) or "") for name, part in found.items())
    return table(("key", "default"), rows)


def section(root: Part, name: str, part: Part) -> str:
    """A heading, what the key may be, and its description."""
    usual, long = default(part), isinstance(part.get("default"), dict)
    of_presets = [
        *((f"`preset: {preset}`", value) for preset, value in part.get("of_preset", {}).items()),
        *((f"`preset: {preset}` and GVCFs", value) for preset, value in part.get("of_preset_by_gvcf", {}).items()),
    ]
    facts = [f"Value: {values(root, part)}."]
    if part["needed"]:
        facts.append("Needed.")
    elif usual and not long:
        others = [f"; with {when}: {default({'default': value})}" for when, value in of_presets]
        facts.append(f"Default: {usual}{''.join(others)}.")
    text = [f"## {code(name)}", " ".join(facts), part.get("description", "")]
    if usual and long:
        text.append(f"Default:\n\n{block(part['default'])}")
        text += [f"With {when}:\n\n{block(value)}" for when, value in of_presets]
    return "\n\n".join(filter(None, text))


def block(value: Mapping[str, object]) -> str:
    """Keys and values as they would be written."""
    lines = "\n".join(f"{key}: {json.dumps(entry)}" for key, entry in value.items())
    return f"```yaml\n{lines}\n```"


def sections(root: Part, found: Mapping[str, Part]) -> list[str]:
    return [overview(found), *(section(root, name, part) for name, part in found.items())]


def fields(root: Part) -> str:
    """The keys of a flat record, as a table."""
    rows = ((code(name), values(root, part), part.get("description", "")) for name, part in keys(root))
    return table(("field", "value", "meaning"), rows)

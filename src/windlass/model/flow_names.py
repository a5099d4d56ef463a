"""What a flow may be called."""

NAME_MAX = 200


def flaw_of_name(name: str) -> str:
    """Why a flow cannot have a name; "" if it can."""
    if not name.strip():
        return "a flow needs a name"
    if "\0" in name or "/" in name:
        return "a flow's name has neither a slash nor a NUL in it"
    if name in (".", ".."):
        return f'a flow cannot be called "{name}": in an address that is a place, and no name'
    if len(name) > NAME_MAX:
        return f"a flow's name has at most {NAME_MAX} characters"
    return ""

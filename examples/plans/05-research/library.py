"""The library of an island, small enough to be read: tools for agents, by their effect."""

from windlass.agents import tool

PAGES = {
    "soil": "The soil of the island is sandy in the north and heavy clay in the south.",
    "beans": "Beans grow on sand and want 500 mm of rain a year.",
    "millet": "Millet grows on sand and is content with 300 mm of rain a year.",
    "rain": "The northern station measured 310 mm last year, the southern one 520 mm.",
}


@tool(effect="external_read")
def search(words: str) -> list[str]:
    """Find pages of the library that hold any of these words."""
    wanted = {word.casefold() for word in words.split()}
    return [
        name
        for name, text in PAGES.items()
        if name in wanted or wanted & {word.casefold().strip(".,") for word in text.split()}
    ]


@tool(effect="external_read")
def read_page(name: str) -> str:
    """Read a page by its name."""
    if name not in PAGES:
        raise ValueError(f'there is no page "{name}"; search finds names')
    return PAGES[name]

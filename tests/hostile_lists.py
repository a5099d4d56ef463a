"""Good bodies for what is done with lists of runs: views of them and bulk jobs."""

from typing import Any

LISTS: dict[str, dict[str, Any]] = {
    "POST /api/v1/bulk": {
        "act": "answer",
        "q": "flow:no-such-flow",
        "answer": "approved",
        "note": "n",
        "dryRun": True,
    },
    "POST /api/v1/views": {
        "name": "hostile-good",
        "page": "runs",
        "query": "status:failed",
        "columns": ["flow"],
        "sort": "-created",
        "shared": False,
    },
    "PATCH /api/v1/views/{id}": {
        "name": "n",
        "query": "q",
        "columns": ["a"],
        "sort": "s",
        "shared": True,
    },
}

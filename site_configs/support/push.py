# SPDX-License-Identifier: BSD-3-Clause
"""Opt-in: each case that ended well goes to a web server as one JSON document, by ReFrame's handler
`httpjson`. Nothing is sent unless IOGAUGE_HTTPJSON_URL names a server.

    python -m site_configs.support.push   prints the mapping of an Elasticsearch index for them

IOGAUGE_HTTPJSON_AUTHORIZATION names a file whose one line becomes the header Authorization.
"""

import functools
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import requests
from reframe.core import logging
from reframe.core.exceptions import ConfigError

URL, AUTHORIZATION = "IOGAUGE_HTTPJSON_URL", "IOGAUGE_HTTPJSON_AUTHORIZATION"
SECONDS = 10  # seconds; a slower server counts as down

# Fields of a document, and their names in ReFrame's records if different.
FIELDS = (
    *("system", "partition", "stack", "case", "pattern", "method", "mode", "scale", "fs"),
    *("processes", "caches", "ledger", "result", "job"),
)
RENAMED = {"stack": "environ", "case": "display_name", "processes": "num_tasks", "job": "jobid"}
TIME, VALUES = "@timestamp", "perf"  # perf.write_bw, perf.read_bw, ...: units as in the table


def handlers() -> list[dict[str, Any]]:
    """For `handlers_perflog`; none unless requested. `ConfigError` if a file is missing."""
    url = os.environ.get(URL)
    if not url:
        return []
    # ReFrame's handler would wait for ever for a server that accepts a document but never answers.
    post = functools.partial(requests.post, timeout=SECONDS)
    logging.requests = SimpleNamespace(post=post, exceptions=requests.exceptions)
    found: dict[str, Any] = {
        "type": "httpjson",
        "url": url,
        "level": "info",
        "json_formatter": document,
    }
    if file := os.environ.get(AUTHORIZATION):
        try:
            line = Path(file).read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            what = f"{AUTHORIZATION}={file}: expected a file of one line: {error}"
            raise ConfigError(what) from None
        found["extra_headers"] = {"Authorization": line}
    return [found]


def document(record: Any, extras: Any, ignored: Any) -> str | None:
    """One record per case that measured something."""
    values = {name.split(":")[-1]: of[0] for name, of in (record.check_perfvalues or {}).items()}
    if not values:
        return None
    about = {name: getattr(record, f"check_{RENAMED.get(name, name)}", None) for name in FIELDS}
    now = datetime.fromtimestamp(record.created, timezone.utc)
    return json.dumps({TIME: now.isoformat(), **about, VALUES: values}, default=str)


def mapping() -> dict[str, Any]:
    fields = {name: {"type": "keyword"} for name in FIELDS} | {"processes": {"type": "integer"}}
    values = {"path_match": f"{VALUES}.*", "mapping": {"type": "double"}}
    return {
        "mappings": {
            "dynamic_templates": [{"values": values}],
            "properties": {TIME: {"type": "date"}, **fields},
        }
    }


if __name__ == "__main__":
    print(json.dumps(mapping(), indent=1))

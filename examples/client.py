"""Ask and teach a service (`classgrow serve MODEL`) with Python's standard library alone.

python client.py predict x.jpg y.jpg
python client.py teach cat photos/cat/*.jpg

The token comes from CLASSGROW_TOKEN, the address from CLASSGROW_URL (http://127.0.0.1:8765).
"""

import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ.get("CLASSGROW_URL", "http://127.0.0.1:8765")
TOKEN = os.environ.get("CLASSGROW_TOKEN", "")


def ask(path, body=None, kind="application/json"):
    """The answer to a request; where the service is busy, it is asked again when it says."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            if refusal.code != 429:
                raise SystemExit(json.load(refusal)["error"]) from None
            time.sleep(float(refusal.headers["Retry-After"]))


def form(photos, **fields):
    """Photos and fields as the body of a form, and its content type."""
    mark = secrets.token_hex(16)
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts += [(f'name="photo"; filename="{place}"', Path(photo).read_bytes()) for place, photo in enumerate(photos)]
    body = b"".join(
        f"--{mark}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n"
        for head, content in parts
    )
    return body + f"--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def predict(photos):
    """One line for each photo."""
    for photo, answer in zip(photos, ask("/predict", *form(photos))["answers"], strict=True):
        name = answer["name"] or "none of the known classes"
        print(f"{photo}: {name} ({answer['ranking'][0][0]} {answer['probability']:.0%})")


def teach(name, photos):
    """Teach a class, see what came of it, and keep it."""
    job = {"job": ask("/teach", *form(photos, name=name))["job"]}
    found = {"state": "waiting"}
    while found["state"] in ("waiting", "learning"):
        time.sleep(0.3)
        [found] = [one for one in ask("/jobs")["jobs"] if one["id"] == job["job"]]
    if found["state"] != "ready":
        raise SystemExit(found["error"])
    for known, accuracy in found["after"].items():
        before = found["before"].get(known)
        print(f"{known}: {accuracy:.0%}" + (f" (before: {before:.0%})" if before is not None else " (new)"))
    kept = ask("/keep", json.dumps(job).encode())
    print(f"version {kept['version']}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["predict", *photos] if photos:
            predict(photos)
        case ["teach", name, *photos] if photos:
            teach(name, photos)
        case _:
            raise SystemExit(__doc__)

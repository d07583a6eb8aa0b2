"""The service's own verbs, asked as a client would."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.serve.conftest import files, noise, png


def finished(client: TestClient, job: str, *states: str) -> dict[str, object]:
    """The job once it is in one of these states."""
    for _ in range(2400):
        found = next(one for one in client.get("/jobs").json()["jobs"] if one["id"] == job)
        if found["state"] in (states or ("ready", "failed", "kept", "discarded")):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def test_photos_get_their_classes_with_the_nearest_kept_ones(client: TestClient) -> None:
    answers = client.post("/predict", files=files(png("red", 50), png("green", 51))).json()["answers"]
    assert [answer["name"] for answer in answers] == ["red", "green"]
    assert [answer["unknown"] for answer in answers] == [False, False]
    assert answers[0]["source"] == "0.png"
    assert answers[0]["ranking"][0] == ["red", answers[0]["probability"]]
    assert sum(share for _, share in answers[0]["ranking"]) == pytest.approx(1)
    nearest = answers[0]["nearest"][0]
    assert nearest["name"] == "red" and 0.9 < nearest["similarity"] <= 1.001
    kept = client.get(nearest["photo"])
    assert (kept.status_code, kept.headers["content-type"], kept.content[:4]) == (200, "image/png", b"\x89PNG")


def test_a_class_is_taught_kept_undone_renamed_and_forgotten(client: TestClient, tmp_path: Path) -> None:
    sent = client.post("/teach", data={"name": "blue"}, files=files(*(png("blue", seed) for seed in range(6))))
    assert sent.status_code == 202
    job = finished(client, sent.json()["job"])
    assert (job["state"], job["done"], job["photos"]) == ("ready", 1.0, {"blue": 6})
    assert sorted(job["before"]) == ["green", "red"] and sorted(job["after"]) == ["blue", "green", "red"]
    assert [one["name"] for one in client.get("/classes").json()["classes"]] == ["green", "red"]  # not yet
    assert client.post("/keep", json={"job": job["id"]}).json() == {"job": job["id"], "state": "kept", "version": 2}
    classes = client.get("/classes").json()
    assert [(one["name"], one["phase"], one["photos"]) for one in classes["classes"]] == [
        ("green", 1, 8),
        ("red", 1, 8),
        ("blue", 2, 6),
    ]
    assert client.post("/predict", files=files(png("blue", 70))).json()["answers"][0]["name"] == "blue"
    assert client.post("/rename", json={"name": "blue", "new": "sky"}).json() == {"version": 3}
    assert client.post("/undo", json={}).json() == {"version": 4}
    assert [one["name"] for one in client.get("/classes").json()["classes"]] == ["green", "red", "blue"]
    assert client.post("/undo", json={"version": 1}).json() == {"version": 5}
    assert [one["name"] for one in client.get("/classes").json()["classes"]] == ["green", "red"]
    refused = client.post("/undo", json={"version": 99})
    assert refused.status_code == 409 and str(tmp_path) not in refused.text
    forgotten = client.post("/forget", json={"name": "red"})
    assert forgotten.status_code == 200, forgotten.text
    assert forgotten.json()["version"] == 6
    history = client.get("/history").json()
    assert [one["action"] for one in history["versions"]] == [
        "learn",
        "learn",
        "rename",
        "rollback",
        "rollback",
        "forget",
    ]
    assert "'red'" not in str(history)
    refused = client.post("/undo", json={})  # every earlier version knew it
    assert refused.status_code == 409 and str(tmp_path) not in refused.text


def test_what_is_discarded_leaves_nothing(client: TestClient, tmp_path: Path) -> None:
    job = client.post("/teach", data={"name": "blue"}, files=files(*(png("blue", seed) for seed in range(3)))).json()
    assert client.post("/forget", json={"name": "blue"}).status_code == 404
    assert client.post("/discard", json=job).json()["state"] == "discarded"
    assert list((tmp_path / ".pets.serve").rglob("*.png")) == []
    assert client.get("/classes").json()["version"] == 1
    again = client.post("/keep", json=job)
    assert again.status_code == 409 and "discarded" in again.json()["error"]


def test_a_class_with_photos_in_the_queue_is_not_forgotten(client: TestClient) -> None:
    """Else the job would bring it back."""
    job = client.post("/correct", data={"name": "red"}, files=files(png("red", 90))).json()
    refused = client.post("/forget", json={"name": "red"})
    assert refused.status_code == 409 and "in the queue" in refused.json()["error"]
    client.post("/discard", json=job)
    assert client.post("/forget", json={"name": "red"}).json()["version"] == 2


def test_noise_is_unknown(client: TestClient) -> None:
    [answer] = client.post("/predict", files=files(noise())).json()["answers"]
    assert (answer["name"], answer["unknown"]) == (None, True)

"""Clients of others, as they come: tritonclient, a model hub's, Label Studio and Prometheus."""

from __future__ import annotations

import base64
import io
import json
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.conftest import SIGNED, Live, files, noise, picture, png
from tests.serve.test_own import finished

httpclient = pytest.importorskip("tritonclient.http")

LABELS = """<View><Image name="img" value="$photo"/>
<Choices name="what" toName="img"><Choice value="red"/></Choices></View>"""


@pytest.fixture(scope="module")
def triton(live: Live) -> httpclient.InferenceServerClient:
    return httpclient.InferenceServerClient(live.host)


def test_tritonclient_lists_and_describes(triton: httpclient.InferenceServerClient) -> None:
    assert triton.is_server_live() and triton.is_server_ready()
    assert triton.is_model_ready("pets", headers=dict(SIGNED))
    assert not triton.is_model_ready("cats", headers=dict(SIGNED))
    listed = triton.get_model_repository_index(headers=dict(SIGNED))
    assert listed == [{"name": "pets", "version": "1", "state": "READY"}]
    about = triton.get_model_metadata("pets", headers=dict(SIGNED))
    assert about["inputs"] == [{"name": "image", "datatype": "BYTES", "shape": [-1]}]
    assert about["outputs"][1] == {"name": "probabilities", "datatype": "FP32", "shape": [-1, 2]}
    assert triton.get_server_metadata(headers=dict(SIGNED))["name"] == "classgrow"
    assert triton.get_model_config("pets", headers=dict(SIGNED))["max_batch_size"] == 200


@pytest.mark.parametrize("binary", [True, False])
def test_tritonclient_infers_image_files(triton: httpclient.InferenceServerClient, binary: bool) -> None:
    content = np.array([png("red", 60), png("green", 61), noise()], dtype=np.object_)
    if not binary:  # JSON holds text only
        content = np.array([base64.b64encode(one) for one in content], dtype=np.object_)
    photos = httpclient.InferInput("image", [3], "BYTES")
    photos.set_data_from_numpy(content, binary_data=binary)
    found = triton.infer("pets", [photos], request_id="seven", headers=dict(SIGNED))
    assert found.get_response()["id"] == "seven"
    assert found.as_numpy("label").tolist() == [b"red", b"green", b""]
    assert found.as_numpy("unknown").tolist() == [False, False, True]
    assert found.as_numpy("probabilities").shape == (3, 2)
    assert found.as_numpy("probabilities").sum(1) == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.parametrize("binary", [True, False])
def test_tritonclient_infers_pixels(triton: httpclient.InferenceServerClient, binary: bool) -> None:
    pixels = np.stack([np.asarray(picture("green", 60)), np.asarray(picture("red", 61))])
    photos = httpclient.InferInput("image", list(pixels.shape), "UINT8")
    photos.set_data_from_numpy(pixels, binary_data=binary)
    wanted = [httpclient.InferRequestedOutput("label", binary_data=binary)]
    found = triton.infer("pets", [photos], outputs=wanted, model_version="1", headers=dict(SIGNED))
    assert [one.decode() if binary else one for one in found.as_numpy("label").tolist()] == ["green", "red"]
    assert found.as_numpy("probabilities") is None


def test_files_and_pixels_of_one_photo_get_the_same_answer(client: TestClient) -> None:
    image = Image.fromarray(np.asarray(picture("red", 9))[:, 4:44].copy())
    content = io.BytesIO()
    image.save(content, "PNG")
    file = {"name": "image", "datatype": "BYTES", "shape": [1], "data": [base64.b64encode(content.getvalue()).decode()]}
    values = {"name": "image", "datatype": "UINT8", "shape": [1, 40, 40, 3], "data": np.asarray(image).ravel().tolist()}
    answers = [client.post("/v2/models/pets/infer", json={"inputs": [one]}).json()["outputs"] for one in (file, values)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "tensor",
    [
        {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 3], "data": [1] * 11},
        {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 3], "data": [256] * 12},
        {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 3], "data": [1.5] * 12},
        {"name": "image", "datatype": "UINT8", "shape": [-1, 2, 2, 3], "data": []},
        {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 5], "data": [1] * 20},
        {"name": "image", "datatype": "FP32", "shape": [1, 2, 2, 3], "data": [1] * 12},
        {"name": "image", "datatype": "BYTES", "shape": [2], "data": ["aGk="]},
        {"name": "image", "datatype": "BYTES", "shape": [1], "data": ["?"]},
        {"name": "image", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 10**12}},
        {"name": "image", "datatype": "BYTES", "shape": [1], "data": [["aGk="] * 3]},
        "image",
        None,
    ],
)
def test_tensors_that_do_not_fit_are_refused(client: TestClient, tensor: object) -> None:
    answer = client.post("/v2/models/pets/infer", json={"inputs": [tensor]})
    assert answer.status_code == 400 and answer.json()["error"]


def test_lengths_that_lie_are_refused(client: TestClient) -> None:
    head = {"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 8}}]}
    text = json.dumps(head).encode()
    for length, rest in ((len(text), b"\xff\xff\xff\xff1234"), (10**9, b"12345678"), (len(text), b"\4\0\0\0123")):
        answer = client.post(
            "/v2/models/pets/infer",
            content=text + rest,
            headers={"Inference-Header-Content-Length": str(length)},
        )
        assert answer.status_code == 400


def test_a_hubs_client_gets_labels_with_scores(live: Live) -> None:
    """As `huggingface_hub.InferenceClient(model=URL).image_classification` posts: the bytes of the photo."""
    asked = urllib.request.Request(f"{live.url}/models/pets", png("green", 77), SIGNED, method="POST")
    with urllib.request.urlopen(asked) as answer:
        found = json.loads(answer.read())
    assert [one["label"] for one in found] == ["green", "red"]
    assert found[0]["score"] > 0.5 and sum(one["score"] for one in found) == pytest.approx(1)


def test_a_hubs_client_may_send_json(client: TestClient) -> None:
    body = {"inputs": base64.b64encode(png("red", 5)).decode(), "parameters": {"top_k": 1}}
    found = client.post("/models/pets", json=body).json()
    assert [one["label"] for one in found] == ["red"]
    assert client.post("/models/dogs", content=b"x").status_code == 404


def data_uri(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()


@pytest.mark.parametrize("prefix", ["", "/label-studio"])
def test_label_studio_says_hello_and_gets_predictions(client: TestClient, prefix: str) -> None:
    assert client.get(f"{prefix}/health").json()["status"] == "UP"
    hello = {"project": "1.1", "schema": LABELS, "hostname": "http://ls:8080", "access_token": "secret"}
    assert client.post(f"{prefix}/setup", json=hello).json() == {"model_version": "1"}
    tasks = [{"id": place, "data": {"photo": data_uri(one)}} for place, one in enumerate([png("red", 3), noise()])]
    body = {"tasks": tasks, "label_config": LABELS, "project": "1.1", "params": {"context": None}}
    red, unknown = client.post(f"{prefix}/predict", json=body).json()["results"]
    assert red["result"] == [{"from_name": "what", "to_name": "img", "type": "choices", "value": {"choices": ["red"]}}]
    assert 0.5 < red["score"] <= 1 and red["model_version"] == "1"
    assert (unknown["result"], unknown["score"]) == ([], 0.0)


def annotation(name: str, seed: int, action: str = "ANNOTATION_CREATED") -> dict[str, object]:
    """What Label Studio posts to a webhook."""
    choice = {"id": "x", "from_name": "what", "to_name": "img", "type": "choices", "value": {"choices": [name]}}
    return {
        "action": action,
        "project": {"id": 1, "title": "pets", "label_config": LABELS},
        "task": {"id": seed, "data": {"photo": data_uri(png(name, seed))}},
        "annotation": {"id": seed, "was_cancelled": False, "result": [choice], "lead_time": 2.1},
    }


def test_labels_of_label_studio_teach(client: TestClient) -> None:
    """Annotations that come while others are learned are learned together, and kept without asking."""
    jobs = [client.post("/webhook", json=annotation("blue", seed)).json()["job"] for seed in range(5)]
    assert client.post("/webhook", json={"action": "PROJECT_UPDATED"}).json()["job"] is None
    for job in dict.fromkeys(jobs):
        assert finished(client, job, "kept", "failed")["state"] == "kept"
    classes = {one["name"]: one["photos"] for one in client.get("/classes").json()["classes"]}
    assert classes == {"red": 8, "green": 8, "blue": 5}
    assert len(set(jobs)) <= 2


def test_metrics_are_read_by_prometheus(client: TestClient) -> None:
    client.post("/predict", files=files(png("red", 1), png("red", 2)))
    client.get("/classes")
    client.get("/no/such/place/<script>")
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    counts = {
        (one.labels["route"], one.labels["method"], one.labels["status"]): one.value
        for one in families["classgrow_requests"].samples
        if one.name.endswith("_total")
    }
    assert counts[("/predict", "POST", "200")] == 1 and counts[("/classes", "GET", "200")] == 1
    assert counts[("other", "GET", "404")] == 1
    assert families["classgrow_classes"].samples[0].value == 2
    assert families["classgrow_model_version"].samples[0].value == 1
    photos = {one.name: one.value for one in families["classgrow_batch_photos"].samples}
    assert photos["classgrow_batch_photos_sum"] == 2
    if Path("/proc/self/statm").exists():
        assert families["classgrow_resident_memory_bytes"].samples[0].value > 10e6

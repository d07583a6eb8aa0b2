"""A model in a folder that learns from folders of photos: teach it, ask it, teach it more, let it forget.

    python examples/photo_model.py

The photos are drawn, and the network is a tiny one that was never trained, so that the script runs anywhere. For photos
of your own leave out `network`, and install the pretrained one: pip install 'classgrow[photos]'.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from own_photos import draw_photos

import classgrow


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        photos, later, model_folder = Path(home) / "photos", Path(home) / "later", Path(home) / "model"
        draw_photos(photos, 20, seed=1)
        later.mkdir()
        (photos / "lemon").rename(later / "lemon")

        model = classgrow.create(model_folder, preset="fast", network="small")
        model.learn(photos)  # photos/apple/*.png, photos/lime/*.png, ...
        learned = model.learn(later)  # lemons; the old photos are not needed again
        print("knows:", ", ".join(model.classes))
        for name, accuracy in learned.after.items():
            before = f"{learned.before[name]:.0%}" if name in learned.before else "new"
            print(f"{name}: {before} -> {accuracy:.0%}")

        answer = classgrow.load(model_folder).predict(later / "lemon" / "0.png")  # in another program, say
        print(f"a lemon is called {answer.name} ({answer.probability:.0%}), most like {answer.nearest[0].source}")

        model.forget("plum")
        print("after forgetting:", ", ".join(model.classes), "in version", model.history[-1].number)


if __name__ == "__main__":
    main()

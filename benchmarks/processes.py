"""One process against two: seconds for a training step of FGP with a teacher, and for the exchange of gradients alone.

    python -m benchmarks.processes

Every process has one thread. The model of `classgrow.experiments.cost` predicts the step of two from that of one:
half of its computing and one exchange.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import torch

from benchmarks.situation import learner_at, training_of
from classgrow.engine.loop import Training, make_optimiser
from classgrow.engine.place import Place, here
from classgrow.engine.runtime import Execution, Runtime
from classgrow.experiments.cost import bytes_per_step
from classgrow.experiments.launch import free_port
from classgrow.networks.resnet_cifar import RESNET32
from classgrow.progress import Silent
from classgrow.records.environment import hardware

STEPS = 8
BATCH = 128


def training() -> Training:
    learner, data = learner_at("fgp", old=10, new=10, per_class=20, compiled=False)
    made = training_of(learner, data)
    runtime = Runtime(Execution(threads=1, processes=here().processes))
    return replace(
        made,
        runtime=runtime,
        data=made.data.select(torch.arange(BATCH) % len(made.data)),
        recipe=replace(made.recipe, batch_size=BATCH),
    )


def timed(work: object, rounds: int) -> dict[str, float]:
    """The quickest of several rounds: wall time, and time of this process on a core."""
    wall, cpu = [], []
    for _ in range(rounds):
        started, began = time.perf_counter(), time.process_time()
        work()  # type: ignore[operator]
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - began)
    return {"wall": min(wall), "cpu": min(cpu), "median wall": sorted(wall)[rounds // 2]}


def part() -> None:
    """What each process does; the first prints."""
    torch.set_num_threads(1)
    one = training()
    optimiser = make_optimiser(one.network, one.recipe)
    found = {"step": timed(lambda: one.epoch(optimiser, 0, Silent()), STEPS)}
    if here().processes > 1:
        gradients = torch.ones(RESNET32.parameters or 0)
        found["exchange"] = timed(lambda: one.runtime.group.sum(gradients), 20)
        found["small exchange"] = timed(lambda: one.runtime.group.sum(torch.ones(3)), 20)
        one.runtime.group.finish()
    if here().rank == 0:
        print(json.dumps(found))


def run(processes: int) -> dict[str, dict[str, float]]:
    port = free_port()
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.processes", "part"],
            env={
                **os.environ,
                **(Place(rank, processes, rank, processes).as_environment("127.0.0.1", port)),
                "OMP_NUM_THREADS": "1",
                "GLOO_SOCKET_IFNAME": "lo",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    answers = [process.communicate()[0] for process in started]
    found: dict[str, dict[str, float]] = json.loads(answers[0])
    return found


def main() -> None:
    alone, both = run(1), run(2)
    machine = hardware()
    print(f"{machine.cpu}, {machine.cores} cores, load {os.getloadavg()[0]:.1f} (other work competes if above 2)")
    sent = bytes_per_step(RESNET32.parameters or 0, 2) / 1e6
    print(f"ResNet-32, batch {BATCH}, {sent:.1f} MB sent a step by each of two")
    for name, value in (("one process", alone["step"]), *((f"two: {key}", value) for key, value in both.items())):
        print(f"{name:<20} " + "  ".join(f"{kind} {1000 * seconds:8.1f} ms" for kind, seconds in value.items()))
    for kind in ("wall", "cpu"):
        predicted = alone["step"][kind] / 2 + both["exchange"][kind] + 2 * both["small exchange"][kind]
        print(
            f"{kind}: {BATCH / alone['step'][kind]:.0f} images/s alone, {BATCH / both['step'][kind]:.0f} by two; "
            f"a step of two predicted {1000 * predicted:.0f} ms, measured {1000 * both['step'][kind]:.0f} ms"
        )


if __name__ == "__main__":
    part() if sys.argv[1:] == ["part"] else main()

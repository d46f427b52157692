"""Runs a fleet with the Python package: ``ray_driver.py local|ray PLAN SHARDS OUT MARKS``.

With ``ray``, a cluster of two raylets compares the pairs. For a tenth of the pairs, the worker is killed once. After a
quarter of the pairs, one raylet is removed. Each kill leaves a file in the folder MARKS.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tracetree import fleet


class Storm(fleet.Ray):
    """A Ray backend that kills workers and removes a raylet."""

    def __init__(self, marks: Path, remove_raylet: Callable[[], None]) -> None:
        super().__init__(retries=20)
        self._marks, self._remove_raylet = str(marks), remove_raylet

    def map(self, fn: Callable[[fleet.Task], fleet.Answer], items: Sequence[fleet.Task], /) -> Iterable[fleet.Answer]:
        return self._answers(fn, list(items))

    def _answers(self, fn: Callable[[fleet.Task], fleet.Answer], items: list[fleet.Task]) -> Iterator[fleet.Answer]:
        marks, victims = self._marks, {item.key for item in random.Random(7).sample(items, len(items) // 10)}

        def killed(task: fleet.Task) -> fleet.Answer:
            mark = Path(marks) / task.key
            if task.key in victims and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return fn(task)

        for at, answer in enumerate(super().map(killed, items)):
            if at == len(items) // 4:
                self._remove_raylet()
            yield answer


def main(backend: str, plan: str, shards: str, out: str, marks: str) -> None:
    if backend == "local":
        result = fleet.run(plan, out=out, shards=shards)
    else:
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        raylet = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        storm = Storm(Path(marks), lambda: cluster.remove_node(raylet))
        result = fleet.run(plan, out=out, shards=shards, backend=storm)
        ray.shutdown()
        cluster.shutdown()
    print(*(finding["message"] for finding in result.findings[:5]), sep="\n", file=sys.stderr)
    print(json.dumps(result.counts))


if __name__ == "__main__":
    main(*sys.argv[1:])

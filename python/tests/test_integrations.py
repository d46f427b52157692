"""Tests of `tracetree.integrations` and `tracetree.handler(log_to=…)` with the real packages. A test is skipped if its
package is not installed. Run by `python/test-torch`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import tracetree

FRAMEWORKS = {"huggingface": "transformers", "lightning": "Lightning", "accelerate": "Accelerate"}


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: run python/test-torch")


def steps_of(folder: Path) -> int:
    (path,) = (folder / "run0").iterdir()
    assert path.name == "rank0.json.gz"
    info = tracetree.open(path).info()
    assert info["contents"]["shapes"] and info["contents"]["stacks"]
    return int(info["steps"])


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_package_is_named(name: str, tmp_path: Path) -> None:
    module = {"lightning": "lightning"}.get(name, FRAMEWORKS[name].lower())
    if importlib.util.find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    with pytest.raises(ImportError, match=f"needs {FRAMEWORKS[name]}: pip install {module}"):
        getattr(tracetree.integrations, name)(tmp_path)


def test_a_trainer_of_transformers_is_recorded(torch: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            out = self.layer(x)
            return {"loss": (out - labels).pow(2).mean(), "logits": out}

    data = [{"x": torch.randn(8), "labels": torch.randn(1)} for _ in range(24)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=12, per_device_train_batch_size=2, report_to=[],
        save_strategy="no", use_cpu=True, disable_tqdm=True,
    )
    callback = tracetree.integrations.huggingface(tmp_path / "runs", wait=1, warmup=1, active=3)
    assert isinstance(callback, transformers.TrainerCallback)
    trainer = transformers.Trainer(model=Net(), args=arguments, train_dataset=data, callbacks=[callback])
    trainer.train()
    assert steps_of(tmp_path / "runs") == 3
    # Training again records nothing more: the profiler ended with the last recorded step.
    trainer.train()
    assert steps_of(tmp_path / "runs") == 3


def test_a_trainer_of_lightning_is_recorded(torch: Any, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")

    class Net(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layer(batch).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    profiler = tracetree.integrations.lightning(tmp_path / "runs", wait=1, warmup=1, active=3)
    trainer = lightning.Trainer(
        max_steps=12, profiler=profiler, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )
    trainer.fit(Net(), torch.utils.data.DataLoader(torch.randn(24, 8), batch_size=2))
    assert steps_of(tmp_path / "runs") == 3


def test_too_few_training_steps_are_reported(torch: Any, tmp_path: Path) -> None:
    from tracetree.integrations import Recorder

    recorder = Recorder(tmp_path, {"wait": 1, "warmup": 2, "active": 5}, {})
    recorder.start()
    recorder.step()
    with pytest.warns(tracetree.TraceWarning, match="NOTHING_RECORDED: step.. was called 1 time"):
        recorder.stop()
    recorder.stop()
    with pytest.raises(ValueError, match="active must be at least 1, not 0"):
        Recorder(tmp_path, {"active": 0}, {})


def test_an_accelerator_is_recorded(torch: Any, tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    handlers = [tracetree.integrations.accelerate(tmp_path / "runs", wait=1, warmup=1, active=3)]
    accelerator = accelerate.Accelerator(kwargs_handlers=handlers, cpu=True)
    model = accelerator.prepare(torch.nn.Linear(8, 8))
    with accelerator.profile() as profiler:
        for _ in range(10):
            model(torch.randn(4, 8)).sum().backward()
            profiler.step()
    assert steps_of(tmp_path / "runs") == 3


def recorded(torch: Any, handler: Any) -> str:
    with torch.profiler.profile(on_trace_ready=handler) as profiler:
        torch.ones(4) + 1
        profiler.step()
    (path,) = handler.paths
    assert os.path.isfile(path)
    return str(path)


def test_a_recording_is_logged_to_tensorboard(torch: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "board")) as writer:
        path = recorded(torch, tracetree.handler(tmp_path / "runs", log_to=writer))
    (events,) = (tmp_path / "board").iterdir()
    assert path.encode() in events.read_bytes()


def test_a_recording_is_logged_to_mlflow(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        recorded(torch, tracetree.handler(tmp_path / "runs", log_to=mlflow))
    found = [file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id, "traces")]
    assert found == ["traces/rank0.json.gz"]


def test_a_recording_is_logged_to_wandb(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", dir=tmp_path, project="traces") as run:
        recorded(torch, tracetree.handler(tmp_path / "runs", log_to=run))
    logged = [path for path in (tmp_path / "wandb").rglob("*.wandb") if b"trace-rank0.json.gz" in path.read_bytes()]
    assert logged


def test_a_recording_is_passed_to_a_function(torch: Any, tmp_path: Path) -> None:
    seen: list[str] = []
    assert seen == [] and recorded(torch, tracetree.handler(tmp_path, log_to=seen.append)) == seen[0]


def test_only_loggers_are_accepted(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="log_to must be wandb.run, mlflow, a SummaryWriter or a function .*'board' .str."):
        tracetree.handler(tmp_path, log_to="board")

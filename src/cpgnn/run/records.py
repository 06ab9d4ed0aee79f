"""What the JSON files of a run hold: config.json and metrics.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cpgnn.check.finding import Finding
from cpgnn.engine.records import Count, EpochRecord, Number, Rate, Record, Share
from cpgnn.evaluation.calibration import FLATTEST, STARKEST, Calibration, Reliability, Scaling
from cpgnn.evaluation.conformal import Promise
from cpgnn.evaluation.metrics import HELD_OUT, Evaluation, Scored, whole
from cpgnn.evaluation.thresholds import Flag, Threshold
from cpgnn.evaluation.without_graph import WithoutGraph
from cpgnn.io.feature_columns import FeaturesRecord
from cpgnn.model import Architecture
from cpgnn.settings import Settings


class VersionRecord(Record, extra="ignore"):
    """Of config.json, the entry that every version writes."""

    cpgnn_version: str = Field(max_length=40)


class OptionsRecord(Record, extra="ignore"):
    """Of config.json, what a fit was asked for."""

    options: dict[str, Any]


class ConfigRecord(Record):
    """config.json: what was asked for, and how to read a later file of features."""

    cpgnn_version: str
    options: dict[str, Any]
    positive: Count | None
    refit: bool
    flag: tuple[str, Share] | None = None
    architecture: Architecture | None
    settings: Settings
    features: FeaturesRecord | None = None
    headers: tuple[tuple[str, ...], ...] = ()
    notices: tuple[str, ...] = ()


class ClassRecord(Record):
    precision: Scored
    recall: Scored


class HeldOutRecord(Record):
    """Scores on nodes whose labels were held out."""

    measured_on: str = HELD_OUT
    judged_by: Literal["accuracy", "average precision"] = "accuracy"
    accuracy: Scored
    macro_f1: Scored
    majority_class: Scored
    per_class: dict[str, ClassRecord]
    confusion: tuple[tuple[Annotated[float, Field(ge=0, lt=2**53)], ...], ...]
    interval: str
    positive: str | None = None
    chance: Scored | None = None
    roc_auc: Scored | None = None
    average_precision: Scored | None = None
    precision_at: dict[int, Scored] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        c = len(self.per_class)
        if {len(self.confusion), *map(len, self.confusion)} != {c}:
            raise ValueError(f"confusion should have {c} rows and {c} columns")
        if self.positive is not None and self.positive not in self.per_class:
            raise ValueError(f"there is no class {self.positive!r}")
        return self

    def made(self) -> Evaluation:
        return Evaluation(
            accuracy=self.accuracy,
            macro_f1=self.macro_f1,
            majority=self.majority_class,
            precision={name: scores.precision for name, scores in self.per_class.items()},
            recall={name: scores.recall for name, scores in self.per_class.items()},
            confusion=whole(np.array(self.confusion)),
            positive=self.positive,
            asked=self.judged_by == "average precision",
            measured_on=self.measured_on,
            roc_auc=self.roc_auc,
            average_precision=self.average_precision,
            precision_at=self.precision_at,
        )


class ReliabilityRecord(Record):
    expected_calibration_error: Rate
    count: tuple[Count, ...] = Field(min_length=1)
    confidence: tuple[Rate, ...]
    accuracy: tuple[Rate, ...]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not len(self.count) == len(self.confidence) == len(self.accuracy):
            raise ValueError("count, confidence and accuracy should be equally long")
        return self

    def made(self) -> Reliability:
        return Reliability(*map(np.array, (self.count, self.confidence, self.accuracy)))


class CalibrationRecord(Record):
    temperature: float = Field(gt=0)
    contrast: float = Field(0.0, ge=FLATTEST, le=STARKEST)
    calibration_nodes: Count
    before: ReliabilityRecord
    after: ReliabilityRecord

    def made(self) -> Calibration:
        before, after = self.before.made(), self.after.made()
        scaling = Scaling(self.temperature, self.contrast)
        return Calibration(scaling, self.calibration_nodes, before, after)


class FlagRecord(Record):
    class_name: str = Field(alias="class")
    value: Share
    validation: Threshold | None
    test: ClassRecord | None

    def made(self) -> Flag:
        test = None if self.test is None else dict(self.test)
        return Flag(self.class_name, self.value, self.validation, test)


class TrialRecord(Record):
    candidate: str
    score: Number
    mean: Number = float("nan")
    loss: Number = float("nan")
    cpu_seconds: Number = float("nan")
    note: str


class SecondsRecord(Record):
    """seconds.json: what each of the trials cost."""

    trials: tuple[Number, ...]


class MetricsRecord(Record):
    """metrics.json: what was trained, and what it is worth."""

    model: str
    num_layers: Count
    compatibility: str
    nodes: Count
    edges: Count
    labelled: dict[str, Count]
    """Nodes of each part of the split."""
    kept_epoch: EpochRecord | None
    self_trained: Count = 0
    trials: tuple[TrialRecord, ...] = ()
    test: HeldOutRecord | None
    test_known_only: HeldOutRecord | None = None
    without_graph: WithoutGraph | None = None
    edge_frequency: dict[str, Any] | None = None
    """As the model has it too: the two are compared."""
    calibration: CalibrationRecord | None = None
    flag: FlagRecord | None = None
    sets: Promise | None = None
    edge_findings: tuple[Finding, ...] = ()

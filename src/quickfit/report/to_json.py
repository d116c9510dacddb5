"""A report for programs: the diagnosis as strict JSON, documented in docs/report-json.md.

Numbers stay numbers, in seconds, bytes and shares; what is not a finite number is null.
Text is as recorded. It is written in ASCII, so that printing it cannot steer a terminal.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from numbers import Integral, Real
from typing import TypeAlias

from quickfit import __version__
from quickfit.findings import Diagnosis, Finding, Fix, Overhead

SCHEMA_VERSION = 2

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def to_json(diagnosis: Diagnosis) -> dict[str, Json]:
    """Return the report as a dictionary that every JSON writer takes."""
    report = {
        "schema_version": SCHEMA_VERSION,
        "quickfit_version": __version__,
        "run": diagnosis.run,
        "script": diagnosis.script,
        "verdict": diagnosis.verdict,
        "headline": diagnosis.headline,
        "device": asdict(diagnosis.device),
        "account": asdict(diagnosis.account) if diagnosis.account else None,
        "memory": asdict(diagnosis.memory) if diagnosis.memory else None,
        "breakdown": asdict(diagnosis.breakdown) if diagnosis.breakdown else None,
        "phases": [asdict(phase) for phase in diagnosis.phases],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "clear": [clear.cause for clear in diagnosis.clear],
        "not_checked": [asdict(each) for each in diagnosis.not_checked],
        "overhead": _overhead(diagnosis.overhead),
        "outcome": asdict(diagnosis.outcome),
        "advice": diagnosis.advice,
        "notes": diagnosis.notes,
        "turbo": None if diagnosis.turbo is None else [asdict(place) for place in diagnosis.turbo],
        "early": asdict(diagnosis.early) if diagnosis.early else None,
    }
    return {key: strict_json(value) for key, value in report.items()}


def dumps(diagnosis: Diagnosis) -> str:
    """Return the report as JSON text, without a line break at its end."""
    return json.dumps(to_json(diagnosis), indent=2, allow_nan=False)


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "cause": finding.cause,
        "title": finding.title,
        "symptom": finding.symptom,
        "severity": finding.severity,
        "summary": finding.summary,
        "where": asdict(finding.where) if finding.where else None,
        "evidence": [asdict(evidence) for evidence in finding.evidence],
        "gain": asdict(finding.gain),
        "after_first": asdict(finding.after_first) if finding.after_first else None,
        "cost_share": finding.cost_share,
        "cost_s": finding.cost_s,
        "is_general": finding.is_general,
        "exhaustion": asdict(finding.exhaustion) if finding.exhaustion else None,
        "fix": _fix(finding.fix) if finding.fix else None,
        "resource": finding.resource,
        "not_found": finding.not_found,
    }


def _fix(fix: Fix) -> dict[str, object]:
    return {
        "title": fix.title,
        "class": fix.kind,
        "before": fix.before,
        "after": fix.after,
        "example": fix.example,
        "note": fix.note,
        "hunks": [asdict(hunk) for hunk in fix.hunks],
        "short_way": fix.short_way,
    }


def _overhead(overhead: Overhead) -> dict[str, object]:
    return {
        "step_cpu_s": overhead.step_cpu_s,
        "threads_core_share": overhead.threads_core_share,
        "threads_cpu_s": overhead.threads_cpu_s,
        "probes": [{"probe": name, "state": state} for name, state in overhead.probes],
        "hooks": [{"name": name, "state": state} for name, state in overhead.hooks],
    }


def strict_json(value: object) -> Json:
    """Return `value` in JSON's own types, with null for NaN and the infinities."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Half of a surrogate pair is no text, and strict readers refuse it.
        return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): strict_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict_json(each) for each in value]
    raise TypeError(f"a diagnosis holds {value!r}, which JSON has no type for")

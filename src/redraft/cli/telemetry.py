"""What a run sends to OpenTelemetry, and where that goes. Nothing is imported before it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import urlsplit

from redraft.errors import SettingsError
from redraft.events import Event

__all__ = ["provider_name", "watched"]

_INSTALL = "pip install 'redraft[otel]' opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"


def provider_name(base_url: str | None) -> str:
    """Who answers: `openai`, or the host of another server."""
    host = urlsplit(base_url or "").hostname or ""
    return "openai" if not host or host.endswith("openai.com") else host


@contextmanager
def watched(
    *, model: str, base_url: str | None, run: str, then: Callable[[Event], None]
) -> Iterator[Callable[[Event], None]]:
    """Tells OpenTelemetry of every event, and passes it on.

    Spans and metrics go where the program that started this one said; where none did, where the
    standard variables say (`OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT`
    and so on), as `opentelemetry-instrument` has it.

    Args:
        model: the model's name.
        base_url: its server.
        run: the run's name; "" where it is not kept.
        then: takes each event afterwards.

    Raises:
        SettingsError: something that this needs is not installed.
    """
    from redraft.events.otel import Telemetry

    providers = _providers()
    try:
        with Telemetry(
            model=model,
            provider=provider_name(base_url),
            conversation=run,
            then=then,
            **providers,
        ) as telemetry:
            yield telemetry
    finally:
        for provider in providers.values():
            provider.shutdown()


def _providers() -> dict[str, Any]:
    """Providers of our own, by their argument; none where the process has one."""
    try:
        from opentelemetry import trace
    except ImportError as missing:
        raise SettingsError(f"OpenTelemetry is not installed; run {_INSTALL}") from missing
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return {}
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise SettingsError(f"OpenTelemetry's SDK is not installed; run {_INSTALL}") from missing
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "redraft"}
    resource = Resource.create(named)
    tracing = TracerProvider(resource=resource)
    for exporter in _exporters("traces"):
        tracing.add_span_processor(BatchSpanProcessor(exporter))
    readers = [PeriodicExportingMetricReader(exporter) for exporter in _exporters("metrics")]
    metrics = MeterProvider(metric_readers=readers, resource=resource)
    return {"tracer_provider": tracing, "meter_provider": metrics}


def _exporters(signal: str) -> Iterator[Any]:
    """The exporters that the environment names for a signal; OTLP where it names none."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    for name in os.environ.get(variable, "otlp").split(","):
        name = name.strip()
        if name in ("", "none"):
            continue
        if name == "console":  # its own default is standard output, which is for the answer
            yield _console(signal)
            continue
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        which = {"grpc": "otlp_proto_grpc"}.get(protocol, "otlp_proto_http")
        found = entry_points(
            group=f"opentelemetry_{signal}_exporter", name=which if name == "otlp" else name
        )
        if not found:
            raise SettingsError(
                f"no exporter {name!r} for {signal} is installed; run {_INSTALL}, or name another one in "
                f"{variable}: `console`, `none`."
            )
        yield next(iter(found)).load()()


def _console(signal: str) -> Any:
    if signal == "traces":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter

    return ConsoleMetricExporter(out=sys.stderr)

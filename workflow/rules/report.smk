rule report:
    input:
        manifests=[LAB.manifests(station) for station in STATIONS],
        measurements="results/measurements.parquet",
        summary="results/summary.parquet",
        comparisons="results/comparisons.parquet",
        codegen=CODEGEN,
        published=[ROOT / path for path in LAB.published],
    output:
        report="results/report.md",
        charts=directory("results/charts"),
    log:
        "logs/report.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        probes=[str(ROOT / path) for path in LAB.probe_files],
        sweeps=[str(ROOT / path) for path in LAB.sweep_files],
        subset=json.dumps(SETTINGS.subset),
        only=json.dumps(SETTINGS.only),
        chunks=list(LAB.chunks),
        settings=LAB.timing_settings(),
        folder=lambda _: str(ROOT / PUBLISHED),
        descriptions=LAB.descriptions(),
        code=LAB.code("report"),
        script=str(ROOT / "scripts" / "report.py"),
    shell:
        "python {params.script:q} --results results --chunks {params.chunks:q}"
        " --probes {params.probes:q} --measurements {input.measurements:q}"
        " --summary {input.summary:q} --comparisons {input.comparisons:q}"
        " --sweeps {params.sweeps:q} --subset {params.subset:q} --only {params.only:q}"
        " --published {params.folder:q} --settings {params.settings:q}"
        " --out {output.report:q} --charts {output.charts:q} 2> >(tee {log:q} >&2)"

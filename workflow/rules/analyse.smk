rule analyse:
    input:
        manifests=[LAB.manifests(station) for station in STATIONS],
        measurements="results/measurements.parquet",
    output:
        summary="results/summary.parquet",
        comparisons="results/comparisons.parquet",
    log:
        "logs/analyse.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        probes=[str(ROOT / path) for path in LAB.probe_files],
        sweeps=[str(ROOT / path) for path in LAB.sweep_files],
        subset=json.dumps(SETTINGS.subset),
        only=json.dumps(SETTINGS.only),
        chunks=list(LAB.chunks),
        references=LAB.references(),
        code=LAB.code("analyse"),
        script=str(ROOT / "scripts" / "analyse.py"),
    shell:
        "python {params.script:q} --results results --chunks {params.chunks:q}"
        " --probes {params.probes:q}"
        " --sweeps {params.sweeps:q}"
        " --subset {params.subset:q} --only {params.only:q} --measurements {input.measurements:q}"
        " --out {output.summary:q} --comparisons {output.comparisons:q} 2> {log:q}"

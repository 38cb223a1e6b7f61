rule codegen:
    input:
        manifests=[LAB.manifests(station) for station in STATIONS],
        measurements="results/measurements.parquet",
        summary="results/summary.parquet",
    output:
        points="results/cost_points.parquet",
        terms="results/cost_model.parquet",
        regrets="results/regret.parquet",
        verdicts="results/verdicts.parquet",
        rule="results/rule.json",
        header="results/probelab_accumulators.hpp",
    log:
        "logs/codegen.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        sweeps=[str(ROOT / path) for path in LAB.sweep_files],
        subset=json.dumps(SETTINGS.subset),
        only=json.dumps(SETTINGS.only),
        points=LAB.references(),
        chunks=list(LAB.chunks),
        code=LAB.code("codegen"),
        script=str(ROOT / "scripts" / "codegen.py"),
    shell:
        "python {params.script:q} --results results --chunks {params.chunks:q}"
        " --sweeps {params.sweeps:q}"
        " --subset {params.subset:q} --only {params.only:q}"
        " --measurements {input.measurements:q} --summary {input.summary:q}"
        " --out results 2> {log:q}"

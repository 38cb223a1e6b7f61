rule aggregate:
    localrule: True
    input:
        [LAB.manifests(station) for station in STATIONS],
    output:
        "results/measurements.parquet",
    log:
        "logs/aggregate.log",
    params:
        chunks=list(LAB.chunks),
        code=LAB.code("aggregate"),
        script=str(ROOT / "scripts" / "aggregate.py"),
    conda:
        "../../environment.yml"
    shell:
        "python {params.script:q} --results results --chunks {params.chunks:q}"
        " --out {output:q} 2> {log:q}"

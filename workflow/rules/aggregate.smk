rule aggregate:
    input:
        [LAB.manifests(station) for station in STATIONS],
    output:
        "results/measurements.parquet",
    log:
        "logs/aggregate.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        chunks=list(LAB.chunks),
        code=LAB.code("aggregate"),
        script=str(ROOT / "scripts" / "aggregate.py"),
    shell:
        "python {params.script:q} --results results --chunks {params.chunks:q}"
        " --out {output:q} 2> {log:q}"

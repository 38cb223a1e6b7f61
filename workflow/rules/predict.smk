rule predict:
    input:
        build="results/build/{chunk}.json",
        sass="results/sass/{chunk}.json",
        shape="results/shape/{chunk}.json",
    output:
        "results/predict/{chunk}.json",
    log:
        "logs/predict/{chunk}.log",
    conda:
        "../../environment.yml"
    params:
        plan=lambda wildcards: LAB.launch_plan(wildcards.chunk),
        code=LAB.code("predict"),
        script=str(ROOT / "scripts" / "predict.py"),
        cache=CACHE,
    shell:
        "python {params.script:q} --plan {params.plan:q} --build {input.build:q}"
        " --sass {input.sass:q} --shape {input.shape:q} --cache {params.cache:q}"
        " --out {output:q} 2> {log:q}"

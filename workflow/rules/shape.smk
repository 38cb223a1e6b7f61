rule shape:
    input:
        build="results/build/{chunk}.json",
        sass="results/sass/{chunk}.json",
    output:
        "results/shape/{chunk}.json",
    log:
        "logs/shape/{chunk}.log",
    conda:
        "../../environment.yml"
    params:
        plan=lambda wildcards: LAB.build_plan(wildcards.chunk),
        intents=lambda wildcards: LAB.intents(wildcards.chunk),
        strict="--strict" if SETTINGS.strict else "",
        code=LAB.code("shape"),
        script=str(ROOT / "scripts" / "shape.py"),
        cache=CACHE,
    shell:
        "python {params.script:q} --plan {params.plan:q} --intents {params.intents:q}"
        " --build {input.build:q} --sass {input.sass:q} --cache {params.cache:q}"
        " {params.strict} --out {output:q} 2> >(tee {log:q} >&2)"

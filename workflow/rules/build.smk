rule build:
    input:
        sources=lambda wildcards: [ROOT / path for path in LAB.sources(wildcards.chunk)],
    output:
        "results/build/{chunk}.json",
    log:
        "logs/build/{chunk}.log",
    conda:
        "../../environment.yml"
    params:
        plan=lambda wildcards: LAB.build_plan(wildcards.chunk),
        toolchain=SETTINGS.toolchain,
        tools=LAB.tools,
        code=LAB.code("build"),
        script=str(ROOT / "scripts" / "build.py"),
        kernels=str(ROOT / "kernels"),
        cache=CACHE,
    shell:
        "python {params.script:q} --plan {params.plan:q} --kernels {params.kernels:q}"
        " --toolchain {params.toolchain:q} --cache {params.cache:q} --out {output:q} 2> >(tee {log:q} >&2)"

rule sass:
    input:
        build="results/build/{chunk}.json",
    output:
        "results/sass/{chunk}.json",
    log:
        "logs/sass/{chunk}.log",
    params:
        toolchain=SETTINGS.toolchain,
        tools=LAB.tools,
        code=LAB.code("sass"),
        script=str(ROOT / "scripts" / "sass.py"),
        cache=CACHE,
    conda:
        "../../environment.yml"
    shell:
        "python {params.script:q} --build {input.build:q} --toolchain {params.toolchain:q}"
        " --cache {params.cache:q} --out {output:q} 2> {log:q}"

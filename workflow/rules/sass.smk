rule sass:
    input:
        build="results/build/{chunk}.json",
    output:
        "results/sass/{chunk}.json",
    log:
        "logs/sass/{chunk}.log",
    conda:
        "../../environment.yml"
    params:
        toolchain=SETTINGS.toolchain,
        tools=LAB.tools,
        code=LAB.code("sass"),
        script=str(ROOT / "scripts" / "sass.py"),
        cache=CACHE,
    shell:
        "python {params.script:q} --build {input.build:q} --toolchain {params.toolchain:q}"
        " --cache {params.cache:q} --out {output:q} 2> {log:q}"

rule timing:
    input:
        build="results/build/{chunk}.json",
        shape="results/shape/{chunk}.json",
        predict="results/predict/{chunk}.json",
    output:
        "results/timing/{chunk}.json",
    log:
        "logs/timing/{chunk}.log",
    conda:
        "../../environment.yml"
    resources:
        gpu=0 if SETTINGS.backend in ("recorded", "model") else 1,
    params:
        settings=LAB.timing_settings(),
        machine=lambda wildcards: LAB.machine(
            wildcards.chunk, here=workflow.local_exec and not workflow.remote_exec
        ),
        code=LAB.code("timing"),
        script=str(ROOT / "scripts" / "timing.py"),
        recordings=str(ROOT / RECORDINGS),
        recorded=LAB.recorded(),
        cache=CACHE,
    shell:
        "python {params.script:q} --settings {params.settings:q} --machine {params.machine:q} --build {input.build:q}"
        " --shape {input.shape:q} --predict {input.predict:q}"
        " --recordings {params.recordings:q} --cache {params.cache:q}"
        " --out {output:q} 2> >(tee {log:q} >&2)"

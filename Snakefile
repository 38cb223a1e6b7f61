# From kernels and a config to a report; docs/architecture.md has the path of the data.
from snakemake.utils import min_version

min_version("9.20")


configfile: Path(workflow.basedir) / "config" / "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/sass.smk"
include: "workflow/rules/shape.smk"
include: "workflow/rules/predict.smk"
include: "workflow/rules/timing.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/codegen.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        # Also what lies between: Snakemake makes a deleted file again only where it is asked for.
        [LAB.manifests(station) for station in STATIONS],
        "results/report.md",
        "results/charts",
        "results/measurements.parquet",
        "results/summary.parquet",
        "results/comparisons.parquet",
        CODEGEN,
    localrule: True

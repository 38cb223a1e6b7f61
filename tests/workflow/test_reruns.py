"""What an edit redoes: the jobs that start, and the work that is really done."""

from collections.abc import Callable

import pytest
import yaml

from tests.workflow.project import DATASET, TINY, Project, Run

CHUNKED = {"build", "sass", "shape", "predict", "timing"}
SHARED = {"aggregate", "analyse"}
ARITHMETIC, CHAIN7 = TINY["probes"]

Done = Callable[[], Project]


def test_first_run_makes_every_variant_once(first: tuple[Project, Run]) -> None:
    _, run = first
    assert run.rules == CHUNKED | SHARED
    assert set(run.jobs.values()) == {1}
    # Four roles alone and one coresident kernel; eight and one.
    for station in ("build", "sass", "shape", "predict"):
        assert len(run.variants(station)) == 4 + 1 + 8 + 1, station
    assert set(run.work.values()) == {1}


def test_second_run_does_nothing(done: Done) -> None:
    run = done().run(DATASET)
    assert run.nothing, run.output
    assert "Nothing to be done" in run.output


@pytest.mark.parametrize(
    ("arguments", "cores"), [(["-n"], 1), (["--lint"], 1), ([DATASET], 2)], ids=str
)
def test_calls_that_redo_nothing(done: Done, arguments: list[str], cores: int) -> None:
    project = done()
    run = project.run(*arguments, cores=cores)
    assert run.status == 0 and not run.work, run.output
    assert project.run(DATASET).nothing


def test_touched_and_rewritten_files_redo_nothing(done: Done) -> None:
    project = done()
    for folder in ("kernels", "config", "src", "scripts", "workflow"):
        for path in (project.folder / folder).rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes())
    assert project.run(DATASET).nothing


def test_key_order_and_whole_floats_redo_nothing(done: Done) -> None:
    project = done()
    config = yaml.safe_load((project.folder / "config" / "config.yaml").read_text())
    config = dict(reversed(list(config.items()))) | {"seed": 1, "blocks": 1.0}
    project.write("config/config.yaml", yaml.safe_dump(config, sort_keys=False))
    name = f"config/probes/{CHAIN7}.yaml"
    probe = yaml.safe_load((project.folder / name).read_text())
    reordered = dict(reversed(list(probe.items())))
    project.write(name, yaml.safe_dump(reordered, sort_keys=False, allow_unicode=True))
    assert project.run(DATASET).nothing


def edit_constants(project: Project) -> None:
    """Give the arithmetic probe's dependent ADD role constants of its own."""
    project.edit(
        f"kernels/{ARITHMETIC}.cu",
        "using dependent_add_chain = Role<Add, 1>;",
        """struct OtherAdd {
    template <class Position> PROBE_INLINE float operator()(float x, Position) const {
        return probe::add_rn(x, 0.375f + Position::value);
    }
};
using dependent_add_chain = Role<OtherAdd, 1>;""",
    )


def test_edited_kernel_redoes_its_own_variants(done: Done) -> None:
    project = done()
    edit_constants(project)
    run = project.run(DATASET)
    assert run.status == 0, run.output
    assert run.rules == CHUNKED | SHARED
    assert all(run.chunks(rule) == {ARITHMETIC} for rule in CHUNKED)
    assert len(run.variants("build")) == 5
    assert all(label.startswith(ARITHMETIC) for label in run.variants("build"))
    # Only kernels whose machine code changed go further: that role alone, and all coresident.
    assert len(run.variants("shape")) == 2
    assert project.run(DATASET).nothing


def test_comment_in_a_kernel_compiles_and_goes_no_further(done: Done) -> None:
    project = done()
    name = f"kernels/{ARITHMETIC}.cu"
    project.write(name, "// One more remark.\n" + (project.folder / name).read_text())
    run = project.run(DATASET)
    assert run.variants("build") and all(
        label.startswith(ARITHMETIC) for label in run.variants("build")
    )
    assert {station for station, _ in run.work} <= {"build", "reference"}
    assert project.run(DATASET).nothing


def test_header_edit_redoes_every_probe_that_includes_it(done: Done) -> None:
    project = done()
    name = "kernels/probe.cuh"
    project.write(name, "// One more remark.\n" + (project.folder / name).read_text())
    run = project.run(DATASET)
    assert run.chunks("build") == {ARITHMETIC, CHAIN7}
    assert len(run.variants("build")) == 14
    assert not run.variants("shape")


def test_probe_config_redoes_that_probe_from_the_first_affected_station(done: Done) -> None:
    project = done()
    name = f"config/probes/{CHAIN7}.yaml"
    probe = yaml.safe_load((project.folder / name).read_text())
    probe["roles"][0]["intent"]["setup"] = "allowed"
    project.write(name, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))
    run = project.run(DATASET)
    assert run.rules == {"shape", "predict", "timing"} | SHARED
    assert all(run.chunks(rule) == {CHAIN7} for rule in ("shape", "predict", "timing"))
    # The role alone, and the coresident kernel that holds it.
    assert len(run.variants("shape")) == 2


def test_one_more_role_makes_only_its_variants(done: Done) -> None:
    project = done()
    name = f"config/probes/{CHAIN7}.yaml"
    probe = yaml.safe_load((project.folder / name).read_text())
    roles = [role["name"] for role in probe["roles"]]
    removed = probe["roles"].pop()
    probe["coresident"] = [roles[:4]]
    probe["claims"] = []
    project.write(name, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))
    assert project.run(DATASET).status == 0
    probe["roles"].append(removed)
    project.write(name, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))
    run = project.run(DATASET)
    assert run.chunks("build") == {CHAIN7}
    # What stood there in the first run is still in the store.
    assert not run.variants("build") and not run.variants("sass")


def test_repeats_redo_timing_alone(done: Done) -> None:
    run = done().run(DATASET, "--config", "repeats=12")
    assert run.rules == {"timing"} | SHARED
    assert not run.variants("build")


def test_threads_predict_again_and_build_nothing(done: Done) -> None:
    run = done().run(DATASET, "--config", "isolated_threads_per_block=[64]")
    assert run.rules == {"predict", "timing"} | SHARED
    assert not run.variants("build") and not run.variants("shape")


def test_edited_library_redoes_the_stations_that_use_it(done: Done) -> None:
    project = done()
    name = "src/probelab/predict/__init__.py"
    project.write(name, (project.folder / name).read_text() + "\n# One more remark.\n")
    run = project.run(DATASET)
    assert run.rules == {"predict", "timing"} | SHARED
    assert {station for station, _ in run.work} == {"predict"}
    assert len(run.variants("predict")) == 14


def test_edited_timing_code_reads_its_results_again(done: Done) -> None:
    project = done()
    name = "src/probelab/timing/station.py"
    project.write(name, (project.folder / name).read_text() + "\n# One more remark.\n")
    run = project.run(DATASET)
    assert run.rules == {"timing"} | SHARED
    assert not run.work


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_chunk_size_changes_jobs_and_no_work(done: Done, size: int) -> None:
    project = done()
    before = project.bytes([DATASET, "results/measurements.parquet"])
    run = project.run(DATASET, "--config", f"chunk_size={size}")
    assert run.status == 0, run.output
    assert sum(1 for rule, _ in run.jobs if rule == "build") >= 14 / size
    assert not [label for station, label in run.work if station != "reference"]
    assert project.bytes([DATASET, "results/measurements.parquet"]) == before


def test_after_a_partial_run_nothing_stays_stale(done: Done) -> None:
    """What a later station reads has changed, though not the file that names it."""
    project = done()
    project.edit("src/probelab/shape/words.py", "chain of", "chain  of")
    assert project.run("results/shape/arithmetic_dependency.sm_86.b.json").status == 0
    run = project.run(DATASET)
    assert run.status == 0 and "analyse" in run.rules


def test_a_deleted_manifest_is_made_again(done: Done) -> None:
    project = done()
    (project.folder / f"results/shape/{ARITHMETIC}.sm_86.b.json").unlink()
    run = project.run()
    assert run.status == 0, run.output
    assert (project.folder / f"results/shape/{ARITHMETIC}.sm_86.b.json").exists()

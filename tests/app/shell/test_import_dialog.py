"""The import dialog: described in a worker, settings with their origin, one recipe in three spellings."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from mdstudio.app import import_dialog, workers
from mdstudio.app.import_dialog import ImportDialog
from mdstudio.app.import_form import ParameterForm
from mdstudio.app.reading import Reader
from mdstudio.app.widgets import Label
from mdstudio.cli.parameters import parameter_help
from mdstudio.engine.errors import Cancelled, SourceError
from mdstudio.engine.parameters import parameters
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from tests.parameter_page import PAGE
from tests.sources.grib_builders import temperature, write
from tests.sources.netcdf_meshes import mesh_file

WAIT = 60_000
Make = Callable[..., ImportDialog]


@pytest.fixture
def make(qtbot, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    for name in ("GRID", "MESH", "TIMESERIES"):
        monkeypatch.delenv(f"MD_DEFAULT_{name}_COMPRESSION", raising=False)

    def made(*sources: Path) -> ImportDialog:
        dialog = ImportDialog([str(path) for path in sources], str(tmp_path), reader)
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        dialog.show()
        qtbot.waitUntil(lambda: dialog.states.state != "loading", timeout=WAIT)
        return dialog

    return made


def all_text(dialog: ImportDialog) -> str:
    return "\n".join(label.full_text() if hasattr(label, "full_text") else label.text()
                     for label in dialog.findChildren(Label))


def test_a_source_is_shown_with_its_items_and_a_free_target(make: Make, source: Path, tmp_path: Path) -> None:
    dialog = make(source)
    assert dialog.states.state == "contents"
    assert [row[1].text for row in dialog.source.table.table_model.rows] == ["temperature", "wind"]
    assert dialog.target.text() == str(tmp_path / "small")
    assert dialog.problem() == ""
    assert dialog.submit.isEnabled()


@pytest.mark.rule("D13")
def test_the_recommendation_is_chosen_and_the_origin_of_every_setting_is_told(make: Make, source: Path) -> None:
    dialog = make(source)
    assert dialog.recipe().writer_parameters == {"Compression": "ZstdAuto"}
    text = all_text(dialog)
    assert "ZstdAuto  (parameter)" in text
    assert "(code default)" in text
    assert "ZstdAuto is recommended for grids, meshes and TimeSeries" in text
    assert "Compression would be None (the code default)" in text


@pytest.mark.rule("D13")
def test_a_variable_of_this_machine_is_respected_and_named(
    make: Make, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MD_DEFAULT_GRID_COMPRESSION", "LZ4")
    dialog = make(source)
    assert dialog.recipe().writer_parameters == {}
    assert "LZ4  (variable MD_DEFAULT_GRID_COMPRESSION)" in all_text(dialog)


@pytest.mark.rule("D11")
def test_every_parameter_has_a_field_with_its_description_as_help_and_page_tell_it(qtbot) -> None:
    form = ParameterForm()
    qtbot.addWidget(form)
    told, written = " ".join(parameter_help({}).split()), PAGE.read_text("utf-8")
    for which in ("writer", "reader"):
        assert set(form.fields[which]) == set(parameters(which))
        for name, field in form.fields[which].items():
            assert field.control.accessibleName() == name
            description, takes = parameters(which)[name].description, parameters(which)[name].takes
            assert field.toolTip() == field.control.accessibleDescription() == f"{description}\n\n{takes}"
            assert " ".join(f"{name} {takes} {description}".split()) in told
            assert description in written


@pytest.mark.rule("R9")
def test_index_lines_that_disagree_with_the_messages_are_told_and_refused_with_strict(
    make: Make, tmp_path: Path, qtbot
) -> None:
    path = write(tmp_path / "a.grib2", [temperature()])
    (tmp_path / "a.grib2.idx").write_text("1:77:d=2020010100:TMP:2 m above ground:anl:\n")
    dialog = make(path)
    told = next(label for label in dialog.findChildren(Label) if "index lines" in label.text())
    assert told.isVisible()
    assert "that disagree with the messages, which are believed: a.grib2.idx line 1" in told.text()
    assert dialog.submit.isEnabled()
    dialog.form.fields["reader"]["Strict"].control.setCurrentText("true")
    qtbot.waitUntil(lambda: dialog.states.state == "error", timeout=WAIT)
    assert "index lines that disagree" in all_text(dialog)


def test_a_bad_value_is_told_under_its_field_and_disables_the_import(make: Make, source: Path) -> None:
    dialog = make(source)
    field = dialog.form.fields["writer"]["GridTileWidth"]
    field.control.setText("7")
    assert "must be" in field.problem()
    assert not dialog.submit.isEnabled()
    assert dialog.problem() in all_text(dialog)
    field.control.setText("64")
    assert dialog.submit.isEnabled()
    assert dialog.recipe().writer_parameters["GridTileWidth"] == 64


def test_values_that_do_not_go_together_are_refused_with_the_engines_words(make: Make, source: Path) -> None:
    dialog = make(source)
    fields = dialog.form.fields["writer"]
    fields["StorageType"].control.setCurrentText("MultiTimestep")
    fields["TimeGroupSize"].control.setText("60000")
    assert not dialog.submit.isEnabled()
    assert "TimeGroupSize" in all_text(dialog)


def test_items_are_chosen_by_their_boxes(make: Make, source: Path, qtbot) -> None:
    dialog = make(source)
    dialog.source.table.select_row(0)
    qtbot.keyClick(dialog.source.table, Qt.Key.Key_Space)
    assert dialog.recipe().items == ("wind",)
    qtbot.keyClick(dialog.source.table, Qt.Key.Key_Space)
    assert dialog.recipe().items == ()
    dialog.source.none.click()
    assert dialog.problem() == "Choose at least one item."


def test_a_target_that_is_taken_is_told_before_the_job(make: Make, archive: Path, source: Path, qtbot) -> None:
    dialog = make(source)
    dialog.target.setText(str(archive / "small"))
    qtbot.waitUntil(lambda: not dialog.submit.isEnabled())
    assert "dataset already" in dialog.problem()
    dialog.target.setText("relative/path")
    qtbot.waitUntil(lambda: "whole path" in dialog.problem())
    dialog.target.setText("")
    assert dialog.problem() == "Name the dataset to make."


@pytest.mark.rule("G9")
def test_command_python_and_json_are_one_recipe(make: Make, source: Path) -> None:
    dialog = make(source)
    box = dialog.recipe_box
    assert box.text.toPlainText() == dialog.recipe().to_command()
    box.form.set_value("json")
    assert Recipe.from_json(json.loads(box.text.toPlainText())) == dialog.recipe()
    box.form.set_value("python")
    assert box.text.toPlainText().startswith("import mdstudio")


def test_import_hands_the_recipe_on_and_closes(make: Make, source: Path, qtbot) -> None:
    dialog = make(source)
    with qtbot.waitSignal(dialog.submitted) as submitted:
        qtbot.mouseClick(dialog.submit, Qt.MouseButton.LeftButton)
    assert submitted.args[0].sources == (str(source),)
    assert not dialog.isVisible()


def test_a_file_that_is_no_source_is_told_by_name_and_reason(make: Make, tmp_path: Path) -> None:
    bad = tmp_path / "notes.nc"
    bad.write_text("no netcdf")
    dialog = make(bad)
    assert dialog.states.state == "error"
    assert "notes.nc" in dialog.states.message()
    assert not dialog.submit.isEnabled()


def test_reader_parameters_describe_the_source_anew(make: Make, source: Path, qtbot) -> None:
    dialog = make(source)
    dialog.source.none.click()
    dialog.form.fields["reader"]["TimePolicy"].control.setCurrentText("fail")
    assert dialog.states.state == "loading"
    qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
    assert dialog.recipe().reader_parameters == {"TimePolicy": "fail"}


def test_describing_runs_in_a_process_whose_errors_keep_their_class(tmp_path: Path) -> None:
    bad = tmp_path / "notes.nc"
    bad.write_text("no netcdf")
    with pytest.raises(SourceError, match="NetCDF"):
        workers.descriptions(Recipe((str(bad),), "x"), Progress())


def test_describing_can_be_cancelled(source: Path) -> None:
    progress = Progress()
    threading.Timer(0.05, progress.cancel).start()
    with pytest.raises(Cancelled):
        workers.descriptions(Recipe((str(source),), "x"), progress)


def test_a_default_target_is_free_and_in_a_folder_that_can_be_written(tmp_path: Path) -> None:
    assert import_dialog.default_target("/x/a.nc", str(tmp_path)) == str(tmp_path / "a")
    (tmp_path / "a").mkdir()
    assert import_dialog.default_target("/x/a.nc", str(tmp_path)) == str(tmp_path / "a-2")
    assert import_dialog.default_target("/x/a.nc", str(tmp_path / "nope")).startswith(str(Path.home()))


@pytest.mark.rule("D13")
def test_a_mesh_is_shown_and_imported(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MD_DEFAULT_MESH_COMPRESSION", "LZ4")
    dialog = make(mesh_file(tmp_path / "mesh.nc"))
    assert dialog.states.state == "contents"
    assert [row[1].text for row in dialog.source.table.table_model.rows] == ["v", "n"]
    text = all_text(dialog)
    assert "3 elements" in text
    assert "LZ4  (variable MD_DEFAULT_MESH_COMPRESSION)" in text
    assert dialog.submit.isEnabled()
    summary = run_recipe(dialog.recipe(), Progress())
    assert (summary["items"], summary["timesteps"]) == (2, 3)

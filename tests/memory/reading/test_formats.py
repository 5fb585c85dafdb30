"""Each format gives its pages, headings, lists and tables, and what it says of itself."""

import zipfile
from datetime import date, datetime
from pathlib import Path

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from memory.reading.images import page_image
from memory.reading.process import read
from memory.reading.values import Facts, Unreadable
from memory.values import Page
from tests.memory.reading import making
from tests.memory.reading.reading import blocks, read_all

BODY = ["The company sells tea and coffee in many", "countries, and has done so for years."]


@pytest.mark.slow
@pytest.mark.spec("S163", "S165")
def test_a_pdf_is_read_by_page_with_its_headings_and_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([
        [("Annual report", 20, True), "", *BODY, "", ("Outlook", 10, True), *BODY],
        [*BODY, "", "A new para\\227graph with (brackets)."],
    ], info="<</Title(All about tea)/CreationDate(D:20220729060321-04'00')>>"))  # fmt: skip

    facts, pages = read_all(path)

    assert facts[0] == Facts(2, "All about tea", date(2022, 7, 29), "")
    assert [page.number for page in pages] == [1, 2]
    joined = " ".join(BODY)
    assert blocks(pages[0]) == [
        ("heading", 1, "Annual report"), ("paragraph", 0, joined), ("heading", 5, "Outlook"), ("paragraph", 0, joined),
    ]  # fmt: skip
    assert [kind for kind, _, _ in blocks(pages[1])] == ["paragraph", "paragraph"]


@pytest.mark.spec("S165")
def test_rows_of_figures_in_a_pdf_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    rows = ["Products $ 63,355 $ 63,948", "Services 19,604 17,486", "Total net sales 82,959 81,434"]
    path.write_bytes(making.pdf([[*BODY, "", *rows, "", *BODY]]))

    _, (page,) = read_all(path)

    assert blocks(page)[1] == ("table", 0, "| Products | $ 63,355 | $ 63,948 |\n| Services | 19,604 | 17,486 |\n| Total net sales | 82,959 | 81,434 |")  # fmt: skip  # noqa: E501


def test_rows_of_figures_as_most_of_europe_writes_them_are_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    rows = [
        "Umsatz 63.355,10 63.948,00 EUR",
        "Dienste 19'604.50 17'486.00",
        "Anteil 12,5 % 13,0 %",
        "Summe 1.282.959 81,4",
    ]
    path.write_bytes(making.pdf([[*BODY, "", *rows, "", *BODY]]))

    _, (page,) = read_all(path)

    assert blocks(page)[1] == ("table", 0, "| Umsatz | 63.355,10 | 63.948,00 EUR |\n| Dienste | 19’604.50 | 17’486.00 |\n| Anteil | 12,5 % | 13,0 % |\n| Summe | 1.282.959 | 81,4 |")  # fmt: skip  # noqa: E501


def test_figures_in_small_letters_are_no_marks_of_footnotes(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    small: list[making.Line] = [(text, 7, False) for text in ("Rent", "1,234", "12", "Power", "(56)", "7")]
    path.write_bytes(making.pdf([[*BODY, *BODY, "", *small, "", BODY[0], ("1", 5, False), BODY[1]]]))

    _, (page,) = read_all(path)

    words = page.text.split()
    assert [word for word in words if word in ("1,234", "12", "(56)", "7", "1")] == ["1,234", "12", "(56)", "7"]


def test_what_was_typed_into_the_fields_of_a_form_is_read_behind_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(making.form({"Name:": "Jane Doe", "Deposit:": "1,500 EUR"}))

    _, (page,) = read_all(path)

    assert page.text.split() == ["Name:", "Jane", "Doe", "Deposit:", "1,500", "EUR"]


def test_what_stands_on_every_page_of_a_pdf_is_left_out_and_what_stands_on_some_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    some = [
        ["ACME CORPORATION", "", *BODY, "Only here" if page == 3 else "", "", f"ACME | Page {page}"]
        for page in range(1, 9)
    ]
    path.write_bytes(making.pdf(some))

    _, pages = read_all(path)

    assert all("ACME" not in page.text for page in pages)
    assert ["Only here" in page.text for page in pages].index(True) == 2
    assert all("many countries, and" in page.text for page in pages)


@pytest.mark.spec("S163", "S165")
def test_a_word_document_has_headings_lists_tables_and_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    making.docx_of(path)

    facts, pages = read_all(path)

    assert facts[0].title == "How we travel"
    assert facts[-1].total_pages == 2
    assert blocks(pages[0]) == [
        ("heading", 1, "Travel policy"),
        ("heading", 1, "Trains"),
        ("paragraph", 0, "Second class below four hours."),
        ("list", 0, "- Book early\n- Keep the ticket"),
        ("table", 0, "| Country | Rate |\n| France | 45 |\n| Spain / Portugal | 40 |"),
    ]
    assert blocks(pages[1]) == [("heading", 2, "Planes"), ("paragraph", 0, "Only over eight hundred kilometres.")]


def test_what_stands_in_fields_and_was_added_under_review_is_read_and_what_was_taken_out_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.docx"
    making.docx_of(path)
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
    listed = "<w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>"
    body = (
        f"<w:sdt>{listed}<w:sdtContent><w:p>{run.format('Contents: Trains 1')}</w:p></w:sdtContent></w:sdt>"
        f"<w:sdt><w:sdtContent><w:p>{run.format('Acme Ltd, Leeds')}</w:p></w:sdtContent></w:sdt>"
        f"<w:p>{run.format('Notice is ')}<w:del w:id='1'><w:r><w:delText>one month</w:delText></w:r></w:del>"
        f"<w:ins w:id='2'>{run.format('three months')}</w:ins><w:sdt><w:sdtContent>{run.format(' to the day')}"
        f"</w:sdtContent></w:sdt><w:moveFrom w:id='3'>{run.format(' moved away')}</w:moveFrom>{run.format('.')}</w:p>"
    )
    words = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = f'<w:document xmlns:w="{words}"><w:body>{body}</w:body></w:document>'
    making.changed_zip(path, {"word/document.xml": document.encode()})

    _, (page,) = read_all(path)

    assert page.text == "Acme Ltd, Leeds\n\nNotice is three months to the day."


WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _with_body(path: Path, body: str, more: dict[str, bytes] | None = None) -> None:
    """A Word document of this body."""
    making.docx_of(path)
    names = f'xmlns:w="{WORDS}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    document = f"<w:document {names}><w:body>{body}</w:body></w:document>"
    making.changed_zip(path, {"word/document.xml": document.encode(), **(more or {})})


def _paragraph(*runs: str) -> str:
    return "<w:p>" + "".join(run if run.startswith("<") else f"<w:r><w:t>{run}</w:t></w:r>" for run in runs) + "</w:p>"


def _row(*cells: str) -> str:
    return (
        "<w:tr>" + "".join(cell if cell.startswith("<w:tc>") else _cell(_paragraph(cell)) for cell in cells) + "</w:tr>"
    )


def _cell(inner: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


@pytest.mark.slow
def test_lines_in_a_cell_of_a_word_document_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    address = "<w:r><w:t>Long Road 1</w:t><w:br/><w:t>12345 Leeds</w:t><w:tab/><w:t>UK</w:t></w:r>"
    gone = "<w:moveFrom w:id='1'><w:r><w:t>gone</w:t></w:r></w:moveFrom>"
    rows = _row("Name", "Address") + _row("Ann", _cell(_paragraph(address, gone)))
    _with_body(path, f"<w:tbl>{rows}</w:tbl>")

    _, (page,) = read_all(path)

    assert page.text == "| Name | Address |\n| Ann | Long Road 1 12345 Leeds UK |"


@pytest.mark.slow
def test_a_cell_that_goes_over_columns_leaves_the_figures_in_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    both = _cell(_paragraph("Total"), '<w:gridSpan w:val="2"/>')
    _with_body(path, f"<w:tbl>{_row('Item', 'Count', 'Sum')}{_row('Tea', '3', '21')}{_row(both, '500')}</w:tbl>")

    _, (page,) = read_all(path)

    assert page.text == "| Item | Count | Sum |\n| Tea | 3 | 21 |\n| Total |  | 500 |"


@pytest.mark.slow
def test_of_a_contract_in_two_columns_nothing_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    clauses = [f"{number}. The seller delivers the goods to the buyer." for number in range(1, 200)]
    columns = [_cell("".join(map(_paragraph, clauses))), _cell(_paragraph("Dasselbe auf Deutsch."))]
    _with_body(path, f"<w:tbl>{_row('English', 'Deutsch')}{_row(*columns)}</w:tbl>")

    _, pages = read_all(path)

    assert all(clause in "".join(page.text for page in pages) for clause in clauses)


@pytest.mark.slow
def test_the_rows_of_a_long_table_stand_on_the_pages_that_word_had_them_on(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    begins = "<w:r><w:lastRenderedPageBreak/><w:t>{}</w:t></w:r>"
    rows = [_row("Good", "Sum"), _row("Tea", "1"), _row(_cell(_paragraph(begins.format("Ink"))), "2"), _row("Pen", "3")]
    rows.append(_row(_cell(_paragraph(begins.format("Cup"))), "4"))
    _with_body(path, f"{_paragraph('Prices')}<w:tbl>{''.join(rows)}</w:tbl>{_paragraph('The end.')}")

    _, pages = read_all(path)

    assert [page.text for page in pages] == [
        "Prices\n\n| Good | Sum |\n| Tea | 1 |",
        "| Good | Sum |\n| Ink | 2 |\n| Pen | 3 |",
        "| Good | Sum |\n| Cup | 4 |\n\nThe end.",
    ]


@pytest.mark.slow
def test_notes_and_what_floats_in_a_box_are_read_with_their_paragraph(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    note = "<w:r><w:footnoteReference w:id='2'/></w:r>"
    floating = f"<w:txbxContent>{_paragraph('Valid until May.')}</w:txbxContent>"
    box = (
        f"<w:r><mc:AlternateContent><mc:Choice Requires='wps'>{floating}</mc:Choice>"
        f"<mc:Fallback><w:pict>{floating}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    notes = (
        f"<w:footnotes xmlns:w='{WORDS}'><w:footnote w:type='separator' w:id='0'>{_paragraph('')}</w:footnote>"
        f"<w:footnote w:id='2'>{_paragraph(' But for gross negligence.')}</w:footnote></w:footnotes>"
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    _with_body(
        path,
        _paragraph("Liability is limited.", note) + _paragraph("Our offer", box) + _paragraph("The end."),
        {
            "word/footnotes.xml": notes.encode(),
            **_registered(path, "footnotes", kind),
        },
    )

    _, (page,) = read_all(path)

    assert page.text == (
        "Liability is limited.\n\nFootnote 1: But for gross negligence.\n\nOur offer\n\nValid until May.\n\nThe end."
    )


@pytest.mark.slow
def test_a_formula_is_read_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"

    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg/><m:e>{run('x')}</m:e></m:rad>"
    total = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("i=1")}</m:sub><m:sup>{run("n")}</m:sup><m:e>{run("i")}</m:e></m:nary>'  # noqa: E501
    math = '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">{}</m:oMath>'
    formulas = (run("y=") + fraction, power + run("−") + root, total)
    _with_body(path, "".join(f"<w:p><w:r><w:t>Thus </w:t></w:r>{math.format(one)}</w:p>" for one in formulas))

    _, (page,) = read_all(path)

    assert page.text == "Thus y=(a+b)/2\n\nThus x^2−√(x)\n\nThus ∑_(i=1)^n i"


@pytest.mark.slow
def test_the_numbers_that_word_counts_stand_before_headings_and_items(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    made = docx.Document()
    numbering = made.part.numbering_part.element
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{style}<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text, style) in enumerate(
            [("decimal", "§ %1", '<w:pStyle w:val="Heading1"/>'), ("decimal", "%1.%2", ""), ("lowerLetter", "(%3)", "")]
        )
    )
    kind = f'<w:abstractNum xmlns:w="{WORDS}" w:abstractNumId="90">{levels}</w:abstractNum>'
    number = '<w:num xmlns:w="{}" w:numId="{}"><w:abstractNumId w:val="90"/>{}</w:num>'
    numbering.insert(0, parse_xml(kind))
    numbering.append(parse_xml(number.format(WORDS, 91, "")))
    anew = '<w:lvlOverride w:ilvl="2"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbering.append(parse_xml(number.format(WORDS, 92, anew)))
    made.styles["Heading 1"].element.get_or_add_pPr().append(parse_xml(
        f'<w:numPr xmlns:w="{WORDS}"><w:numId w:val="91"/></w:numPr>'
    ))  # fmt: skip
    for text, name, at in (
        ("Subject", "", 0), ("The goods.", "91", 1), ("Term", "", 0), ("Two years.", "91", 1), ("", "91", 1),
        ("Notice:", "91", 1), ("in writing", "91", 2), ("in time", "91", 2), ("once more", "92", 2), ("Told", "", -1),
    ):  # fmt: skip
        paragraph = made.add_heading(text, 1) if not name and at == 0 else made.add_paragraph(text)
        if name:
            within = f'<w:numPr xmlns:w="{WORDS}"><w:ilvl w:val="{at}"/><w:numId w:val="{name}"/></w:numPr>'
            paragraph._element.get_or_add_pPr().append(parse_xml(within))
    made.save(str(path))

    _, (page,) = read_all(path)

    assert page.text == (
        "§ 1 Subject\n\n- 1.1 The goods.\n\n§ 2 Term\n\n- 2.1 Two years.\n\n- 2.3 Notice:\n"
        "- (a) in writing\n- (b) in time\n- (a) once more\n\nTold"
    )


def _registered(path: Path, name: str, kind: str) -> dict[str, bytes]:
    """What has to be said in a container of Word so that a part of it is found."""
    making.docx_of(path)
    with zipfile.ZipFile(path) as container:
        types, relations = (container.read(one) for one in (TYPES, RELATIONS))
    part = f'<Override PartName="/word/{name}.xml" ContentType="{kind}"/></Types>'.encode()
    relation = f'<Relationship Id="rIdN" Type="{OFFICE}/relationships/{name}" Target="{name}.xml"/></Relationships>'
    return {
        TYPES: types.replace(b"</Types>", part),
        RELATIONS: relations.replace(b"</Relationships>", relation.encode()),
    }


TYPES, RELATIONS = "[Content_Types].xml", "word/_rels/document.xml.rels"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name", "plain", "kind"),
    [
        (making.docx_of, "a.docm", b"wordprocessingml.document", b"ms-word.document.macroEnabled"),
        (making.docx_of, "a.dotx", b"wordprocessingml.document", b"wordprocessingml.template"),
        (making.pptx_of, "a.ppsx", b"presentationml.presentation", b"presentationml.slideshow"),
        (making.pptx_of, "a.pptm", b"presentationml.presentation", b"ms-powerpoint.presentation.macroEnabled"),
    ],
    ids=["docm", "dotx", "ppsx", "pptm"],
)
def test_documents_with_macros_templates_and_shows_are_read_like_any(
    tmp_path: Path, make: making.Maker, name: str, plain: bytes, kind: bytes
) -> None:
    path = tmp_path / name
    make(path)
    with zipfile.ZipFile(path) as container:
        types = container.read(TYPES)
    before = b"application/vnd.openxmlformats-officedocument." + plain + b".main+xml"
    prefix = b"application/vnd." if kind.startswith(b"ms-") else b"application/vnd.openxmlformats-officedocument."
    making.changed_zip(path, {TYPES: types.replace(before, prefix + kind + b".main+xml")})

    _, pages = read_all(path)

    assert any("Second class" in page.text or "Sales rose" in page.text for page in pages)


@pytest.mark.slow
def test_each_slide_is_a_page_also_one_without_words(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    making.pptx_of(path)

    _, pages = read_all(path)

    assert [(page.number, page.title) for page in pages] == [(1, "Results"), (2, "Slide 2"), (3, "Figures")]
    assert blocks(pages[0]) == [
        ("heading", 1, "Results"), ("list", 0, "- Sales rose\n- Costs fell"), ("paragraph", 0, "Notes: Smile here."),
    ]  # fmt: skip
    assert pages[1].text == ""
    assert blocks(pages[2])[1] == ("table", 0, "| Year | Sum |\n| 2022 | 7 |")


@pytest.mark.slow
def test_the_figures_of_a_chart_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    drawn = CategoryChartData()  # type: ignore[no-untyped-call]
    drawn.categories = ["2022", "2023"]
    drawn.add_series("Sales", (19.5, None))  # type: ignore[no-untyped-call]
    drawn.add_series("Costs", (7, 8))  # type: ignore[no-untyped-call]
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 900_000, 900_000, drawn).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "In millions"
    made.save(str(path))

    _, (page,) = read_all(path)

    assert blocks(page) == [
        ("paragraph", 0, "In millions"), ("table", 0, "|  | Sales | Costs |\n| 2022 | 19.5 | 7 |\n| 2023 |  | 8 |"),
    ]  # fmt: skip


@pytest.mark.spec("S163")
def test_each_sheet_is_a_page_with_its_name_and_a_table_without_empty_rows_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    costs: list[list[object]] = [
        ["Our costs"],
        [],
        [None, "Item", None, "Sum", "On"],
        [None, "Pens", None, 12.5, datetime(2022, 3, 4)],
        [],
        [None, "Ink", None, 7],
    ]
    making.xlsx_of(path, {"Costs": costs, "Empty": [], "Sales": [["Good", "Sold"], ["Tea", True]]})

    facts, pages = read_all(path)

    assert facts[-1].total_pages == 2
    assert [(page.title, blocks(page)) for page in pages] == [
        (
            "Costs",
            [
                ("paragraph", 0, "Our costs"),
                ("table", 0, "| Item | Sum | On |\n| Pens | 12.5 | 2022-03-04 |\n| Ink | 7 |  |"),
            ],
        ),
        ("Sales", [("table", 0, "| Good | Sold |\n| Tea | yes |")]),
    ]


def test_numbers_of_a_sheet_keep_the_digits_that_excel_keeps(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    making.xlsx_of(path, {"Sums": [["Id", "Sum"], [4_006_381_333_931_001, 12_345_678_901.23], [1, 0.1 + 0.2]]})

    _, (page,) = read_all(path)

    assert page.text == "| Id | Sum |\n| 4006381333931001 | 12345678901.23 |\n| 1 | 0.3 |"


def test_a_sheet_of_opendocument_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    making.ods_of(path, making.ods_row("Good", "Left") + making.ods_row("Tea", "3"))

    _, (page,) = read_all(path)

    assert (page.title, page.text) == ("Stock", "| Good | Left |\n| Tea | 3 |")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_csv_is_one_table_in_any_encoding_and_with_any_separator(
    tmp_path: Path, encoding: str, separator: str
) -> None:
    path = tmp_path / "a.csv"
    rows = [["Name", "Größe", "Ort"], ["Müller", '"groß\nund breit"', "Köln"], ["Meier", "klein", "Bonn"]]
    path.write_bytes("\r\n".join(separator.join(row) for row in rows).encode(encoding))

    _, (page,) = read_all(path)

    assert page.text == "| Name | Größe | Ort |\n| Müller | groß und breit | Köln |\n| Meier | klein | Bonn |"


def test_a_csv_of_decimal_commas_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Miete;1200,50\nStrom;80,20\n")

    _, (page,) = read_all(path)

    assert page.text == "| Miete | 1200,50 |\n| Strom | 80,20 |"


def test_what_excel_says_above_a_csv_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sep=;\r\nName;Sum\r\nTea, green;1,50\r\n", newline="")

    _, (page,) = read_all(path)

    assert page.text == "| Name | Sum |\n| Tea, green | 1,50 |"


@pytest.mark.parametrize(
    ("above", "header"),
    [
        (("Statement;;;", "Account;123;;"), "Day;Text;Sum;Left"),
        (("Statement",), "Day;Text;Sum;Left"),
        ((), ";Text;Sum;Left"),
        ((), "Day;Text;Sum;Left"),
    ],
    ids=["account", "title", "empty corner", "nothing"],
)
def test_the_header_of_a_csv_is_the_row_that_names_the_columns(
    tmp_path: Path, above: tuple[str, ...], header: str
) -> None:
    path = tmp_path / "a.csv"
    rows = [f"0{number}.02.2023;Rent;-1.200,00;300,00" for number in range(1, 9)]
    path.write_text("\n".join([*above, header, *rows]))

    _, (page,) = read_all(path)

    *titles, (kind, _, table) = blocks(page)
    assert kind == "table"
    assert table.split("\n")[0] == f"| {header.replace(';', ' | ')} |"
    assert [text for _, _, text in titles] == [" ".join(one.split(";")).strip() for one in above]


def test_a_quotation_mark_that_nothing_ends_takes_no_rows_in(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = ["Good\tWidth", '"Pipe\t5', *(f"Pipe {number}\t{number}" for number in range(1_000))]
    path.write_text("\n".join(rows))

    _, pages = read_all(path)

    assert "| Pipe 999 | 999 |" in pages[-1].text
    assert '| "Pipe | 5 |' in pages[0].text


def test_a_cell_is_read_as_far_as_excel_lets_it_go_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    words = " ".join(f"word{number}" for number in range(3_000))
    path.write_text(f"Id,Text\n1,{words}\n2,{words * 2}\n")

    facts, pages = read_all(path)

    assert "word2999 |" in "".join(page.text for page in pages)
    assert facts[-1].note == "Partly read: of each cell the first 32,767 characters; the rest is left out."


def test_a_csv_of_very_many_columns_says_that_some_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(",".join(f"c{number}" for number in range(count)) for count in (256, 300)))

    facts, (page,) = read_all(path)

    assert "c255" in page.text
    assert "c256" not in page.text
    assert facts[-1].note == "Partly read: the first 256 of 300 columns."


def test_a_long_csv_has_its_header_on_each_page(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Number,Square\n" + "".join(f"{number},{number * number}\n" for number in range(5_000)))

    facts, pages = read_all(path)

    assert len(pages) > 3
    assert facts[-1].total_pages == len(pages)
    assert all(page.text.startswith("| Number | Square |\n") for page in pages)
    assert sum(len(page.text.split("\n")) - 1 for page in pages) == 5_000


@pytest.mark.slow
def test_markdown_keeps_its_blocks_and_tells_its_title_and_date(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "---\ntitle: 'Our tea'\ndate: 2021-05-06\n---\nIntro\nof two lines\n\nPrices\n===\n- one\n- two\n\n"
        "## Table ##\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\n# no heading\n\nx = 1\n```\nEnd.\n\n***\n---\n"
    )

    facts, (page,) = read_all(path)

    assert facts[0] == Facts(0, "Our tea", date(2021, 5, 6))
    assert blocks(page) == [
        ("paragraph", 0, "Intro\nof two lines"), ("heading", 1, "Prices"), ("list", 0, "- one\n- two"),
        ("heading", 2, "Table"), ("table", 0, "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", 0, "```python\n# no heading\n\nx = 1\n```"), ("paragraph", 0, "End."), ("heading", 2, "***"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_web_page_is_what_it_says_and_not_what_stands_around_it(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    said = "Tea is dear this year because the harvest was bad. " * 6
    path.write_text(
        '<!doctype html><html><head><title>Prices of tea</title><meta name="date" content="2021-05-06"></head><body>'
        f"<nav>Home About Imprint</nav><article><h1>Prices of tea</h1><p>{said}</p><h2>Green</h2><p>{said}</p><table>"
        "<tr><th>Kind</th><th>Price</th></tr><tr><td>Green</td><td>7</td></tr></table>"
        "<script>alert('boo')</script></article><footer>Imprint</footer></body></html>"
    )

    facts, (page,) = read_all(path)

    assert facts[0] == Facts(0, "Prices of tea", date(2021, 5, 6))
    assert [kind for kind, _, _ in blocks(page)] == ["heading", "paragraph", "heading", "paragraph", "table"]
    assert blocks(page)[2] == ("heading", 2, "Green")
    assert not any(word in page.text for word in ("alert", "Imprint", "<"))


@pytest.mark.slow
def test_a_web_page_of_tables_keeps_them_as_tables(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    months = "".join(f"<tr><td>Month {number}</td><td>{number * 100}</td></tr>" for number in range(1, 13))
    path.write_text(
        "<html><head><title>Sales</title><style>td {}</style></head><body><h1>Sales</h1>\n<table>\n"
        f"<tr><th>Month</th>\n<th>Sum</th></tr>{months}</table><h2>Costs</h2><ul><li>Rent<br>yearly</li><li>Power</li>"
        "</ul><table><tr><td>Rent</td><td>7</td></tr><tr><td colspan=2>All</td></tr></table><!-- no -->The\nend."
        "<table><tr><td><p>Set aside.</p></td></tr></table><pre>a\n  b</pre></body></html>"
    )

    _, (page,) = read_all(path)

    rows = "\n".join(f"| Month {number} | {number * 100} |" for number in range(1, 13))
    assert blocks(page) == [
        ("heading", 1, "Sales"), ("table", 0, f"| Month | Sum |\n{rows}"), ("heading", 2, "Costs"),
        ("list", 0, "- Rent\nyearly\n- Power"), ("table", 0, "| Rent | 7 |\n| All |  |"), ("paragraph", 0, "The end."),
        ("paragraph", 0, "Set aside."), ("code", 0, "a\n  b"),
    ]  # fmt: skip


def test_a_text_loses_what_cannot_be_stored_and_what_cannot_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("A ﬁne\u00adly \x00 made\r\nline.\n\n\n\nAnother\u00a0one. \ufb04\fNew page.", newline="")

    _, pages = read_all(path)

    assert [page.text for page in pages] == ["A finely \ufffd made\nline.\n\nAnother one. ffl", "New page."]


def test_an_empty_page_of_a_text_is_a_page(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One.\f\fThree.\n\f")

    _, pages = read_all(path)

    assert [(page.number, page.text) for page in pages] == [(1, "One."), (2, ""), (3, "Three.")]


def test_a_long_text_is_cut_into_pages_between_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    paragraphs = [f"Paragraph {number}. " + "Words follow words. " * 20 for number in range(200)]
    path.write_text("\n\n".join(paragraphs))

    _, pages = read_all(path)

    assert len(pages) > 3
    assert "\n\n".join(page.text for page in pages) == "\n\n".join(paragraph.strip() for paragraph in paragraphs)


MAIL = """\
From: =?utf-8?q?Ines_M=C3=A4rten?= <ines@example.org>
To: Bob <bob@example.org>
Subject: =?utf-8?b?TGllZmVydW5nIGRlciBUw7xyZW4=?=
Date: Tue, 03 Nov 2026 09:15:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
{body}
--c
Content-Type: text/html; charset=utf-8

<html><head><style>p {{ color: red }}</style></head><body><p>Die <b>T&uuml;ren</b> kommen am Montag.</p></body></html>
--c--
--b
Content-Type: application/pdf; name="=?utf-8?q?T=C3=BCren=2Epdf?="
Content-Disposition: attachment
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--b
Content-Type: message/rfc822

Subject: Inner

inner words
--b--
"""
PLAIN = "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n{words}"


@pytest.mark.spec("S163")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            PLAIN.format(words="Die T=FCren kommen am Dienstag.\n\nGr=FC=DFe\nInes"),
            ["Die Türen kommen am Dienstag.", "Grüße\nInes"],
        ),
        (PLAIN.format(words=" "), ["Die Türen kommen am Montag."]),
    ],
    ids=["plain", "only html"],
)
def test_a_mail_is_read_as_a_mail(tmp_path: Path, body: str, says: list[str]) -> None:
    path = tmp_path / "doors.eml"
    path.write_bytes(MAIL.format(body=body).replace("\n", "\r\n").encode())

    facts, (page,) = read_all(path)

    assert (facts[0].title, facts[0].date) == ("Lieferung der Türen", date(2026, 11, 3))
    assert blocks(page) == [
        ("heading", 1, "Lieferung der Türen"),
        (
            "paragraph",
            0,
            "From: Ines Märten <ines@example.org>\nTo: Bob <bob@example.org>\nDate: Tue, 03 Nov 2026 09:15:00 +0100",
        ),
        *(("paragraph", 0, words) for words in says),
        ("list", 0, "Attachments:\n- Türen.pdf\n- without a name (message/rfc822)"),
    ]


def test_the_name_of_an_attachment_is_read_as_it_is_where_nothing_encodes_it(tmp_path: Path) -> None:
    path = tmp_path / "raw.eml"
    head = "Subject: Hi\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee there.\n--b\n"
    path.write_text(f'{head}Content-Disposition: attachment; filename="Türen 日本.pdf"\n\nx\n--b--\n')

    _, (page,) = read_all(path)

    assert blocks(page)[-1] == ("list", 0, "Attachments:\n- Türen 日本.pdf")


def test_a_footer_in_plain_text_does_not_hide_the_html_of_a_mail(tmp_path: Path) -> None:
    path = tmp_path / "list.eml"
    head = b"Subject: Hi\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n"
    path.write_bytes(head + b"<p>The meeting is on Monday.</p>\n--b\n\nTo unsubscribe, write to us.\n--b--\n")

    _, (page,) = read_all(path)

    assert [words for _, _, words in blocks(page)[1:]] == ["The meeting is on Monday.", "To unsubscribe, write to us."]


@pytest.mark.slow
@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: Hi\nContent-Type: multipart/mixed\n\nno boundary",
        b"Subject: =?utf-8?b?!!!?= \xff\nDate: never\nContent-Type: text/plain; charset=none-such\n\nwords \xff",
        b"Subject: Hi\nContent-Type: text/plain; name*=x''%ff%\nContent-Disposition: \xff\n\nwords",
        b"Subject: Hi\n" + b"Content-Type: multipart/mixed; boundary=a\n\n--a\n" * 50 + b"\nwords",
        b"Subject: Hi\nFrom: =?utf-8?b?A?= <a@example.org>\n\nwords",
    ],
    ids=["no boundary", "no such encoding", "bad name", "nested", "cut in a letter"],
)
def test_a_mail_that_is_not_as_it_should_be_is_read_as_far_as_it_goes(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "odd.eml"
    path.write_bytes(raw)

    _, (page,) = read_all(path)

    assert "Hi" in page.text or page.text.endswith("words ÿ")


def test_cells_of_a_mail_in_html_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    table = "<table><tr><th>Kind</th><th>Price</th></tr><tr><td>Tea</td><td>7</td></tr></table>"
    path.write_text(f"Subject: Prices\nContent-Type: text/html\n\n{table}")

    _, (page,) = read_all(path)

    assert page.text.endswith("Kind Price\n\nTea 7")


@pytest.mark.slow
@pytest.mark.parametrize("make", [making.docx_of, making.pptx_of])
def test_reading_goes_on_where_another_one_ended(tmp_path: Path, make: making.Maker) -> None:
    path = tmp_path / "file"
    make(path)
    _, whole = read_all(path)

    assert read_all(path, first_page=2)[1] == whole[1:]


@pytest.mark.slow
def test_reading_a_pdf_goes_on_where_another_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([[("Title", 18, True), *BODY, f"Page {number}"] for number in range(40)]))
    _, whole = read_all(path)

    facts, rest = read_all(path, first_page=31)
    ended, none = read_all(path, first_page=41)

    assert rest == whole[30:]
    assert none == []
    assert [one.total_pages for one in (*facts, *ended)] == [40] * 3
    assert ended[-1].note == ""


def test_a_page_of_a_pdf_is_drawn_as_wide_as_asked_and_no_larger_than_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([BODY, BODY]))

    small, large = page_image(path, 2, width=300), page_image(path, 1, width=100_000)

    assert small.startswith(b"\x89PNG")
    assert int.from_bytes(small[16:20]) == 300
    assert int.from_bytes(large[16:20]) * int.from_bytes(large[20:24]) <= 8_100_000
    with pytest.raises(Unreadable, match="no page 3") as refused:
        page_image(path, 3, width=300)
    assert refused.value.code == "not_there"


def test_what_was_typed_into_a_form_is_seen_on_the_picture_of_its_page(tmp_path: Path) -> None:
    filled, empty = tmp_path / "filled.pdf", tmp_path / "empty.pdf"
    filled.write_bytes(making.form({"Name:": "Jane Doe"}))
    empty.write_bytes(making.form({"Name:": ""}))

    assert page_image(filled, 1, width=400) != page_image(empty, 1, width=400)


@pytest.mark.slow
def test_whoever_stops_early_leaves_no_process_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([BODY] * 500))

    with read(path, doc_type="pdf", filename="a.pdf") as reading:
        first = next(reading)
        second = next(reading)
    assert isinstance(first, Facts)
    assert isinstance(second, Page)
    assert next(reading, None) is None

"""A deck as a file for PowerPoint, LibreOffice or Keynote: real text, tables and charts, to be edited on.
Imports python-pptx late."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.slides.measure import GAP, INDENT, LINE, runs_left
from agents.slides.shapes import HEIGHT, WIDTH, Block, Box, Drawing, Page, Picture, Table, Text

MEDIA_TYPE: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_TITLE_ONLY: Final = 5
"""The layout, by its number in the template of python-pptx: a title and nothing else."""
_FONT: Final = "Calibri"


def powerpoint(pages: Sequence[Page], images: Mapping[str, bytes], *, title: str, author: str) -> bytes:
    """`images`: the pictures by the paths that the pages name them by; one that is missing is left out."""
    from pptx import Presentation
    from pptx.util import Pt

    made = Presentation()
    made.slide_width, made.slide_height = Pt(WIDTH), Pt(HEIGHT)
    for page in pages:
        _write(made.slides.add_slide(made.slide_layouts[_TITLE_ONLY]), page, images)
    about = made.core_properties
    about.title, about.author, about.last_modified_by = title, author, author
    raw = io.BytesIO()
    made.save(raw)
    return raw.getvalue()


def _write(slide: Any, page: Page, images: Mapping[str, bytes]) -> None:
    background = slide.background.fill
    background.solid()
    background.fore_color.rgb = _colour(page.ground)
    titled = False
    for shape in page.shapes:
        match shape:
            case Block():
                _block(slide, shape)
            case Text(is_title=True) if not titled:
                _text(slide.shapes.title, shape)
                titled = True
            case Text():
                _text(slide.shapes.add_textbox(*_placed(shape.box)), shape)
            case Table():
                _table(slide, shape)
            case Drawing():
                _chart(slide, shape)
            case Picture():
                _picture(slide, shape, images)
    if page.notes:
        slide.notes_slide.notes_text_frame.text = page.notes


def _colour(digits: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(digits)  # type: ignore[no-untyped-call]


def _placed(box: Box) -> tuple[Any, Any, Any, Any]:
    from pptx.util import Pt

    return Pt(box.left), Pt(box.top), Pt(box.width), Pt(box.height)


def _block(slide: Any, block: Block) -> None:
    from pptx.enum.shapes import MSO_SHAPE

    drawn = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *_placed(block.box))
    drawn.fill.solid()
    drawn.fill.fore_color.rgb = _colour(block.colour)
    drawn.line.fill.background()
    drawn.shadow.inherit = False


def _text(into: Any, text: Text) -> None:
    from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
    from pptx.util import Pt

    into.left, into.top, into.width, into.height = _placed(text.box)
    frame = into.text_frame
    frame.word_wrap, frame.auto_size = True, MSO_AUTO_SIZE.NONE
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.vertical_anchor = {"top": MSO_ANCHOR.TOP, "middle": MSO_ANCHOR.MIDDLE, "bottom": MSO_ANCHOR.BOTTOM}[
        text.anchor
    ]
    for number, line in enumerate(text.lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.alignment = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}[text.align]
        _turned(paragraph, line)
        paragraph.line_spacing = LINE / 1.2  # of a line of the font itself
        if text.bullets:
            _marked(paragraph, text, first=number == 0)
        run = paragraph.add_run()
        run.text = line
        run.font.size, run.font.bold, run.font.italic, run.font.name = Pt(text.size), text.bold, text.italic, _FONT
        run.font.color.rgb = _colour(text.colour)


def _turned(paragraph: Any, line: str) -> None:
    """What is read from the right begins there."""
    from pptx.enum.text import PP_ALIGN

    if runs_left(line):
        paragraph._p.get_or_add_pPr().set("rtl", "1")
        if paragraph.alignment in (None, PP_ALIGN.LEFT):
            paragraph.alignment = PP_ALIGN.RIGHT


def _marked(paragraph: Any, text: Text, *, first: bool) -> None:
    """A point's mark and indent: python-pptx has no words for them."""
    from lxml import etree
    from pptx.oxml.ns import qn
    from pptx.util import Pt

    properties = paragraph._p.get_or_add_pPr()
    indent = int(Pt(INDENT * text.size))
    properties.set("marL", str(indent))
    properties.set("indent", str(-indent))
    if not first:
        paragraph.space_before = Pt(GAP * text.size)
    colour = etree.SubElement(properties, qn("a:buClr"))
    etree.SubElement(colour, qn("a:srgbClr")).set("val", text.mark)
    etree.SubElement(properties, qn("a:buFont")).set("typeface", "Arial")
    etree.SubElement(properties, qn("a:buChar")).set("char", "\u2022")


def _table(slide: Any, table: Table) -> None:
    from pptx.enum.text import MSO_ANCHOR
    from pptx.util import Pt

    made = slide.shapes.add_table(len(table.rows), len(table.rows[0]), *_placed(table.box)).table
    for row_number, row in enumerate(table.rows):
        for column, content in enumerate(row):
            cell = made.cell(row_number, column)
            cell.fill.solid()
            ground = table.head if row_number == 0 else table.stripe if row_number % 2 == 0 else table.ground
            cell.fill.fore_color.rgb = _colour(ground)
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            cell.margin_left = cell.margin_right = Pt(8)
            cell.margin_top = cell.margin_bottom = Pt(2)
            _turned(cell.text_frame.paragraphs[0], content)
            run = cell.text_frame.paragraphs[0].add_run()
            run.text = content
            run.font.size, run.font.bold, run.font.name = Pt(table.size), row_number == 0, _FONT
            run.font.color.rgb = _colour(table.on_head if row_number == 0 else table.text)


def _chart(slide: Any, drawing: Drawing) -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
    from pptx.util import Pt

    chart = drawing.chart
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = list(chart.categories)
    for series in chart.series:
        data.add_series(series.name, series.values)
    kinds = {"bar": XL_CHART_TYPE.COLUMN_CLUSTERED, "line": XL_CHART_TYPE.LINE_MARKERS, "pie": XL_CHART_TYPE.PIE}
    made = slide.shapes.add_chart(kinds[chart.kind], *_placed(drawing.box), data).chart
    made.has_title = False
    made.font.size, made.font.name = Pt(drawing.size), _FONT
    made.font.color.rgb = _colour(drawing.text)
    made.has_legend = chart.kind == "pie" or len(chart.series) > 1
    if made.has_legend:
        made.legend.position, made.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    plot = made.plots[0]
    if chart.kind == "pie":
        plot.has_data_labels = True
        plot.data_labels.show_percentage, plot.data_labels.show_value = True, False
        # Beside the pie, where the theme's text can be read: no one colour can be read on all of its pieces.
        plot.data_labels.position = XL_LABEL_POSITION.OUTSIDE_END
        plot.data_labels.font.color.rgb = _colour(drawing.text)
        for place in range(len(chart.categories)):
            _filled(plot.series[0].points[place].format.fill, drawing.colours[place % len(drawing.colours)])
        return
    made.value_axis.major_gridlines.format.line.color.rgb = _colour(drawing.rule)
    made.value_axis.major_gridlines.format.line.width = Pt(0.25)
    made.value_axis.format.line.fill.background()
    if any(value < 0 for series in chart.series for value in series.values):
        # Else they stand at the zero line, across the bars.
        made.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    if chart.kind == "bar":
        plot.gap_width = 60
    for place, series in enumerate(plot.series):
        colour = drawing.colours[place % len(drawing.colours)]
        if chart.kind == "bar":
            _filled(series.format.fill, colour)
        else:
            series.format.line.color.rgb, series.format.line.width, series.smooth = _colour(colour), Pt(2.5), False
            _filled(series.marker.format.fill, colour)


def _filled(fill: Any, colour: str) -> None:
    fill.solid()
    fill.fore_color.rgb = _colour(colour)


def _picture(slide: Any, picture: Picture, images: Mapping[str, bytes]) -> None:
    from pptx.util import Pt

    content = images.get(picture.path)
    if content is None:
        return
    drawn = slide.shapes.add_picture(io.BytesIO(content), 0, 0)
    scale = min(Pt(picture.box.width) / drawn.width, Pt(picture.box.height) / drawn.height)
    drawn.width, drawn.height = int(drawn.width * scale), int(drawn.height * scale)
    drawn.left = Pt(picture.box.left) + (Pt(picture.box.width) - drawn.width) // 2
    drawn.top = Pt(picture.box.top) + (Pt(picture.box.height) - drawn.height) // 2
    drawn.name = picture.alt[:80]

//! Figures as SVG: lines with error bars over a linear or logarithmic axis, a legend beside them, and a text for each
//! point, which browsers show when the pointer is over it.

use super::escape::escape;
use crate::axis::Scale;
use crate::error::{Error, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;
use std::fmt::Write;

const SIZE: (u32, u32) = (960, 420);
const LEGEND: u32 = 230;
/// Okabe and Ito's colors, which the color-blind can tell apart.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
/// The color of marks that are no measurements.
pub(super) const GRAY: RGBColor = RGBColor(120, 120, 120);

pub(super) struct Figure {
    pub title: String,
    pub x: Direction,
    pub y: Direction,
    pub series: Vec<Series>,
}

/// An axis of a figure.
pub(super) struct Direction {
    pub name: String,
    pub scale: Scale,
    /// Names of the values 0, 1, 2 and so on of an ordinal axis.
    pub names: Vec<String>,
}

pub(super) struct Series {
    pub name: String,
    pub color: RGBColor,
    pub dashed: bool,
    /// Lines between the dots, or dots alone.
    pub joined: bool,
    pub dots: Vec<Dot>,
}

pub(super) struct Dot {
    pub x: f64,
    /// None of a result that is wrong: a cross on the x axis.
    pub y: Option<f64>,
    pub low: f64,
    pub high: f64,
    /// Empty for the ends of a ceiling.
    pub text: String,
}

pub(super) fn color(i: usize) -> RGBColor {
    COLORS[i % COLORS.len()]
}

impl Direction {
    /// The position of a value on an axis of even ticks.
    fn place(&self, v: f64) -> f64 {
        if self.scale == Scale::Log { v.log2() } else { v }
    }

    /// The label of a tick.
    fn tick(&self, at: f64) -> String {
        match self.scale {
            Scale::Linear => short(at),
            Scale::Log if at.fract() == 0.0 && (14.0..64.0).contains(&at) => format!("2^{at}"),
            Scale::Log => short(at.exp2()),
            Scale::Ordinal if at.fract() == 0.0 && at >= 0.0 => {
                self.names.get(at as usize).cloned().unwrap_or_default()
            }
            Scale::Ordinal => String::new(),
        }
    }

    /// The range of an axis that has these values, with some room.
    fn range(&self, values: impl Iterator<Item = f64>, from_zero: bool) -> std::ops::Range<f64> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.map(|v| self.place(v)).filter(|v| v.is_finite()) {
            (low, high) = (low.min(v), high.max(v));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if from_zero && self.scale == Scale::Linear {
            low = 0.0;
        }
        let room = if high > low { 0.04 * (high - low) } else { 0.5_f64.max(0.04 * high.abs()) };
        let below = if from_zero && self.scale == Scale::Linear { 0.0 } else { room };
        low - below..high + room
    }
}

/// A number with three figures or all digits in front of the point.
fn short(v: f64) -> String {
    let digits = if v == 0.0 { 0 } else { (2.0 - v.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    let text = format!("{v:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

impl Figure {
    /// The figure as a whole SVG file. Errors: [`Error::Drawing`].
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        let hits = self.draw(&mut svg).map_err(|why| Error::Drawing(format!("`{}`: {why}", self.title)))?;
        let Some(end) = svg.rfind("</svg>") else { return Err(Error::Drawing(self.title.clone())) };
        svg.insert_str(end, &hits);
        Ok(svg)
    }

    /// Draws into `svg`; gives the elements that show texts.
    fn draw(&self, svg: &mut String) -> std::result::Result<String, String> {
        fn text(e: impl Display) -> String {
            e.to_string()
        }
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(text)?;
        let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
        let dots = || self.series.iter().flat_map(|s| &s.dots);
        let x_range = self.x.range(dots().map(|d| d.x), false);
        let y_values = dots().filter(|d| d.y.is_some()).flat_map(|d| [d.low, d.high]);
        let y_range = self.y.range(y_values, true);
        let floor = y_range.start;
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(x_range, y_range)
            .map_err(text)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.12))
            .x_labels(12)
            .x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .x_label_formatter(&|v| self.x.tick(*v))
            .y_label_formatter(&|v| self.y.tick(*v))
            .draw()
            .map_err(text)?;
        let mut hits = String::new();
        for s in &self.series {
            let at = |d: &Dot| d.y.map(|y| (self.x.place(d.x), self.y.place(y)));
            let path: Vec<(f64, f64)> = s.dots.iter().filter_map(at).collect();
            if s.joined && s.dashed {
                chart.draw_series(DashedLineSeries::new(path, 6, 4, s.color.stroke_width(2))).map_err(text)?;
            } else if s.joined {
                chart.draw_series(LineSeries::new(path, s.color.stroke_width(2))).map_err(text)?;
            }
            for d in s.dots.iter().filter(|d| !d.text.is_empty()) {
                let x = self.x.place(d.x);
                let place = match at(d) {
                    Some((x, y)) => {
                        let bar = [(x, self.y.place(d.low)), (x, self.y.place(d.high))];
                        let drawn = chart.draw_series([PathElement::new(bar, s.color.stroke_width(1))]);
                        drawn.map_err(text)?;
                        chart.draw_series([Circle::new((x, y), 3, s.color.filled())]).map_err(text)?;
                        (x, y)
                    }
                    None => {
                        chart.draw_series([Cross::new((x, floor), 6, RED.stroke_width(3))]).map_err(text)?;
                        (x, floor)
                    }
                };
                let (px, py) = chart.backend_coord(&place);
                let said = escape(&d.text);
                writeln!(
                    hits,
                    r#"<circle class="hit" cx="{px}" cy="{py}" r="8" fill="transparent"><title>{said}</title></circle>"#
                )
                .map_err(text)?;
            }
        }
        let style = ("sans-serif", 14).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        for (i, s) in self.series.iter().enumerate() {
            let y = 50 + 22 * i as i32;
            right
                .draw(&PathElement::new([(0, y), (24, y)], s.color.stroke_width(if s.joined { 2 } else { 0 })))
                .map_err(text)?;
            if s.dots.iter().any(|d| !d.text.is_empty()) {
                right.draw(&Circle::new((12, y), 3, s.color.filled())).map_err(text)?;
            }
            right.draw(&Text::new(s.name.clone(), (30, y), style.clone())).map_err(text)?;
        }
        root.present().map_err(text)?;
        Ok(hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!([0.0, 0.25, 12.34, 4096.0].map(short), ["0", "0.25", "12.3", "4096"]);
        let of = |scale, at| Direction { name: String::new(), scale, names: vec!["8x8".into()] }.tick(at);
        assert_eq!((of(Scale::Log, 20.0), of(Scale::Log, 3.0)), ("2^20".into(), "8".into()));
        assert_eq!(
            (of(Scale::Ordinal, 0.0), of(Scale::Ordinal, 0.5), of(Scale::Ordinal, 9.0)),
            ("8x8".into(), "".into(), "".into())
        );
    }
}

//! Table of medians beside their promises, and the statistics in it.

use std::time::Duration;

#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<[String; 4]>,
}

impl Report {
    pub(crate) fn row(&mut self, name: &str, value: String, promise: &str, note: String) {
        self.rows
            .push([name.to_owned(), value, promise.to_owned(), note]);
    }

    pub(crate) fn time(
        &mut self,
        name: &str,
        samples: &[Duration],
        promise: Option<Duration>,
        note: String,
    ) {
        let median = median(samples);
        let (bound, ratio) = match promise {
            Some(promise) => (
                shown(promise),
                format!(
                    "{:.2} of the promise; ",
                    median.as_secs_f64() / promise.as_secs_f64()
                ),
            ),
            None => (String::new(), String::new()),
        };
        self.row(name, shown(median), &bound, format!("{ratio}{note}"));
    }

    pub(crate) fn print(&self) {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..4)
            .map(|column| width(column).unwrap_or(0).max(8))
            .collect();
        let heads = ["benchmark", "median", "promise", "notes"].map(str::to_owned);
        for row in std::iter::once(&heads).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            #[expect(
                clippy::print_stdout,
                reason = "a benchmark's only output is its table"
            )]
            {
                println!("{}", cells.join("  ").trim_end());
            }
        }
    }
}

pub(crate) fn median(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

pub(crate) fn percentile_90(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() * 9 / 10]
}

pub(crate) fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1_000.0 {
        format!("{us:.0} µs")
    } else {
        format!("{:.2} ms", us / 1e3)
    }
}

pub(crate) fn sampled(count: usize, mut sample: impl FnMut() -> Duration) -> Vec<Duration> {
    (0..count).map(|_| sample()).collect()
}

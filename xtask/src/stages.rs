//! Named stages of a chore and their times. The last lines of a run say which stages ran, how long each took, which
//! failed and, of tests, which.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::bail;

/// Lines of an error that the summary repeats; the whole error is where its stage ended.
const ERROR_LINES_MAX: usize = 40;

/// How one stage ended.
struct Outcome {
    name: &'static str,
    end: End,
}

enum End {
    Passed(Duration),
    /// With its error, whose first line is the reason; the further lines are what failed.
    Failed(Duration, String),
    /// Not run, for this reason.
    Skipped(&'static str),
}

/// Runs stages one after the other. A stage that fails does not keep the next from running, so that one
/// run shows everything that is broken.
pub(crate) struct Stages {
    /// Skip stages that can be chosen and whose name does not contain this.
    only: Option<String>,
    started: Instant,
    outcomes: Vec<Outcome>,
}

impl Stages {
    /// Of the stages that can be chosen, runs those whose name contains `only`; all without it.
    pub(crate) fn new(only: Option<String>) -> Self {
        Self {
            only,
            started: Instant::now(),
            outcomes: Vec::new(),
        }
    }

    /// Runs `stage` as [`Stages::run`] does, unless only others are to run.
    pub(crate) fn run_if_wanted(
        &mut self,
        name: &'static str,
        stage: impl FnOnce() -> anyhow::Result<()>,
    ) {
        if self.only.as_deref().is_none_or(|only| name.contains(only)) {
            self.run(name, stage);
        }
    }

    /// Runs `stage`, prints its name and time, and returns whether it succeeded. What failed before is printed with
    /// the name, so that a run which is killed has it in its last lines too.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        stage: impl FnOnce() -> anyhow::Result<()>,
    ) -> bool {
        let failed = self.failed();
        let before = if failed.is_empty() {
            String::new()
        } else {
            format!("; failed so far: {}", failed.join(", "))
        };
        eprintln!(
            "\n== {name}, {} after the start{before}",
            minutes(self.started.elapsed())
        );
        let started = Instant::now();
        let error = stage().err();
        let time = started.elapsed();
        let passed = error.is_none();
        let end = match error {
            None => {
                eprintln!("== {name}: passed in {}", minutes(time));
                End::Passed(time)
            }
            Some(error) => {
                let error = format!("{error:#}");
                eprintln!("== {name}: failed in {}: {error}", minutes(time));
                End::Failed(time, error)
            }
        };
        self.outcomes.push(Outcome { name, end });
        passed
    }

    /// Notes that a stage is not run, and why.
    pub(crate) fn skip(&mut self, name: &'static str, reason: &'static str) {
        let end = End::Skipped(reason);
        self.outcomes.push(Outcome { name, end });
    }

    /// Prints the summary.
    ///
    /// # Errors
    ///
    /// When a stage failed, with the names of all that did.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        eprint!("\n{}", self.summary());
        let failed = self.failed();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    fn failed(&self) -> Vec<&'static str> {
        let outcomes = self.outcomes.iter();
        let failed = outcomes.filter(|outcome| matches!(outcome.end, End::Failed(..)));
        failed.map(|outcome| outcome.name).collect()
    }

    /// A table of all stages with their times, and below it each stage that failed with its error.
    fn summary(&self) -> String {
        let mut text = "   time  stage\n".to_owned();
        let mut total = Duration::ZERO;
        let mut errors = String::new();
        for Outcome { name, end } in &self.outcomes {
            let (time, mark) = match end {
                End::Passed(time) => (Some(*time), String::new()),
                End::Failed(time, error) => {
                    write_error(&mut errors, name, error);
                    (Some(*time), "  FAILED".to_owned())
                }
                End::Skipped(reason) => (None, format!("  not run: {reason}")),
            };
            total += time.unwrap_or_default();
            let time = time.map_or_else(|| "-".to_owned(), minutes);
            writeln!(text, "{time:>7}  {name}{mark}").expect("a string takes all text");
        }
        writeln!(text, "{:>7}  in all", minutes(total)).expect("a string takes all text");
        text + &errors
    }
}

/// Adds what the summary has of the error of one stage.
fn write_error(text: &mut String, name: &str, error: &str) {
    for (index, line) in error.lines().take(ERROR_LINES_MAX).enumerate() {
        let (start, end) = if index == 0 {
            ("\nfailed: ", format!("{name}: {line}"))
        } else {
            ("    ", line.trim_start().to_owned())
        };
        writeln!(text, "{start}{end}").expect("a string takes all text");
    }
    let more = error.lines().count().saturating_sub(ERROR_LINES_MAX);
    if more > 0 {
        writeln!(text, "    … {more} more lines").expect("a string takes all text");
    }
}

/// `time` as minutes and seconds.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::bail;

    use super::{ERROR_LINES_MAX, End, Outcome, Stages};

    fn stages(outcomes: Vec<(&'static str, End)>) -> Stages {
        let outcomes = outcomes.into_iter();
        Stages {
            outcomes: outcomes.map(|(name, end)| Outcome { name, end }).collect(),
            ..Stages::new(None)
        }
    }

    fn failed(seconds: u64, error: &str) -> End {
        End::Failed(Duration::from_secs(seconds), error.to_owned())
    }

    #[test]
    fn the_summary_ends_with_each_stage_that_failed_and_its_tests() {
        let stages = stages(vec![
            ("format", End::Passed(Duration::from_secs(7))),
            ("tests", failed(754, "2 tests failed\none::a\ntwo::b")),
            ("attacks", End::Skipped("the build failed")),
            ("words", failed(0, "a word")),
        ]);
        let expected = [
            "   time  stage",
            "   0:07  format",
            "  12:34  tests  FAILED",
            "      -  attacks  not run: the build failed",
            "   0:00  words  FAILED",
            "  12:41  in all",
            "",
            "failed: tests: 2 tests failed",
            "    one::a",
            "    two::b",
            "",
            "failed: words: a word",
        ];
        assert_eq!(stages.summary().lines().collect::<Vec<_>>(), expected);
        let error = stages.finish().expect_err("two stages failed");
        assert_eq!(error.to_string(), "failed: tests, words");
    }

    #[test]
    fn a_stage_that_fails_does_not_keep_the_next_from_running() {
        let mut stages = Stages::new(Some("b".to_owned()));
        assert!(!stages.run("a", || bail!("wrong")));
        stages.run_if_wanted("c", || bail!("not to be run"));
        stages.run_if_wanted("b", || Ok(()));
        assert_eq!(stages.failed(), ["a"]);
        assert_eq!(stages.outcomes.len(), 2);
        assert!(stages.finish().is_err());
    }

    #[test]
    fn a_run_without_a_fault_has_only_its_table() {
        let stages = stages(vec![("a", End::Passed(Duration::from_secs(1)))]);
        assert!(stages.summary().ends_with("   0:01  a\n   0:01  in all\n"));
        assert!(stages.finish().is_ok());
    }

    #[test]
    fn a_long_error_is_cut_and_the_rest_counted() {
        let lines = vec!["line"; ERROR_LINES_MAX + 3].join("\n");
        let stages = stages(vec![("a", failed(1, &lines))]);
        let summary = stages.summary();
        assert!(
            summary.ends_with("    line\n    … 3 more lines\n"),
            "{summary}"
        );
    }
}

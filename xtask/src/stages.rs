//! Named stages of a chore, their times, and the table of times at the end.

use std::time::{Duration, Instant};

use anyhow::bail;

/// What became of one stage.
struct Outcome {
    name: &'static str,
    time: Duration,
    error: Option<anyhow::Error>,
}

/// Runs stages one after the other. A stage that fails does not keep the next from running, so that one
/// run shows everything that is broken.
#[derive(Default)]
pub(crate) struct Stages {
    /// Skip stages that can be chosen and whose name does not contain this.
    only: Option<String>,
    outcomes: Vec<Outcome>,
}

impl Stages {
    /// Of the stages that can be chosen, wants those whose name contains `only`; all without it.
    pub(crate) fn only(only: Option<String>) -> Self {
        Self {
            only,
            outcomes: Vec::new(),
        }
    }

    /// Runs `stage` as [`Stages::run`] does, unless only others are wanted.
    pub(crate) fn run_if_wanted(
        &mut self,
        name: &'static str,
        stage: impl FnOnce() -> anyhow::Result<()>,
    ) {
        if self.only.as_deref().is_none_or(|only| name.contains(only)) {
            self.run(name, stage);
        }
    }

    /// Runs `stage`, prints its name and time, and returns whether it succeeded.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        stage: impl FnOnce() -> anyhow::Result<()>,
    ) -> bool {
        eprintln!("\n== {name}");
        let started = Instant::now();
        let error = stage().err();
        let time = started.elapsed();
        match &error {
            None => eprintln!("== {name}: passed in {}", minutes(time)),
            Some(error) => eprintln!("== {name}: failed in {}: {error:#}", minutes(time)),
        }
        let passed = error.is_none();
        self.outcomes.push(Outcome { name, time, error });
        passed
    }

    /// Prints the time of every stage.
    ///
    /// # Errors
    ///
    /// When a stage failed, with the names of all that did.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let total: Duration = self.outcomes.iter().map(|outcome| outcome.time).sum();
        eprintln!("\n   time  stage");
        for outcome in &self.outcomes {
            let mark = if outcome.error.is_some() {
                "  FAILED"
            } else {
                ""
            };
            eprintln!("{:>7}  {}{mark}", minutes(outcome.time), outcome.name);
        }
        eprintln!("{:>7}  in all", minutes(total));
        let failed: Vec<_> = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.error.is_some())
            .map(|outcome| outcome.name)
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

/// `time` as minutes and seconds.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
